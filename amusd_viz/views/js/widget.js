// Entry of the notebook widget (anywidget): traits in, a theater out.

import { Theater } from "./theater.js";

export default {
  render({ model, el }) {
    const theater = new Theater(el, model.get("traces"), {
      at: model.get("at"),
      future: model.get("future"),
      height: model.get("height"),
    });
    const onTraces = () => theater.show(model.get("traces"));
    model.on("change:traces", onTraces);
    return () => {
      model.off("change:traces", onTraces);
      theater.destroy();
    };
  },
};
