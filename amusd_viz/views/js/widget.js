// Entry of the notebook widget (anywidget): traits in, a theater out.

import { Theater } from "./theater.js";
import { say } from "./sentences.js";

export default {
  render({ model, el }) {
    const now = () => ({ live: model.get("live"), note: model.get("note").name ? model.get("note") : null });
    const theater = new Theater(el, model.get("traces"), {
      at: model.get("at"),
      future: model.get("future"),
      height: model.get("height"),
      ...now(),
      onStop: () => model.send({ kind: "stop" }),
      onMissing: (run, have) => model.send({ kind: "missing", run, have }),
    });
    const onTraces = () => theater.show(model.get("traces"), now());
    const onMessage = (message) => {
      if (message?.kind === "events") theater.append(message.batches);
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
