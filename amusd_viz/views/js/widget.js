// Entry of the notebook widget (anywidget): traits in, a theater out.

import { Theater } from "./theater.js";
import { say } from "./sentences.js";

export default {
  render({ model, el }) {
    const theater = new Theater(el, model.get("traces"), {
      at: model.get("at"),
      future: model.get("future"),
      height: model.get("height"),
      live: model.get("live"),
      note: model.get("note"),
      onStop: () => model.send({ kind: "stop" }),
      onMissing: (run, have) => model.send({ kind: "missing", run, have }),
    });
    const onTraces = () => theater.show(model.get("traces"), { live: model.get("live"), note: model.get("note") });
    const onMessage = (message) => {
      if (message?.kind === "events") theater.append(message);
    };
    const onLost = () => {
      if (!model.comm_live && model.get("live")) theater.complain(say("lost"));
    };
    model.on("change:traces", onTraces);
    model.on("msg:custom", onMessage);
    model.on("comm_live_update", onLost);
    if (model.get("live")) model.send({ kind: "ready" });
    return () => {
      model.off("change:traces", onTraces);
      model.off("msg:custom", onMessage);
      model.off("comm_live_update", onLost);
      theater.destroy();
    };
  },
};
