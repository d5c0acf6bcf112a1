// Entry of the notebook widget (anywidget): traits in, a theater out.

import { Theater } from "./theater.js";
import { say } from "./sentences.js";

const SHOWN = ["traces", "live", "note", "offer"];

export default {
  render({ model, el }) {
    const now = () => ({
      live: model.get("live"),
      note: model.get("note").name ? model.get("note") : null,
      offer: model.get("offer"),
    });
    const theater = new Theater(el, model.get("traces"), {
      at: model.get("at"),
      future: model.get("future"),
      height: model.get("height"),
      alone: model.get("alone"),
      ...now(),
      onStop: () => model.send({ kind: "stop" }),
      onAlone: () => model.send({ kind: "autoregressive" }),
      onMissing: (run, have) => model.send({ kind: "missing", run, have }),
    });
    // Several traits change together: shown once, when all are here.
    let coming = null;
    const onTraits = () => {
      coming ??= Promise.resolve().then(() => {
        coming = null;
        theater.show(model.get("traces"), now());
      });
    };
    const onMessage = (message) => {
      if (message?.kind === "events") theater.append(message.batches);
    };
    const onLost = () => {
      if (!model.comm_live && model.get("live")) theater.complain(say("lost"));
    };
    for (const name of SHOWN) model.on(`change:${name}`, onTraits);
    model.on("msg:custom", onMessage);
    model.on("comm_live_update", onLost);
    if (model.get("live")) model.send({ kind: "ready" });
    return () => {
      for (const name of SHOWN) model.off(`change:${name}`, onTraits);
      model.off("msg:custom", onMessage);
      model.off("comm_live_update", onLost);
      theater.destroy();
    };
  },
};
