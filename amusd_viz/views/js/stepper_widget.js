// The stepper in a notebook (anywidget): presses go to the kernel, which drives the protocol.

import { Stepper } from "./stepper.js";

export default {
  render({ model, el }) {
    const driver = {
      fixed: model.get("fixed"),
      get view() {
        return model.get("view");
      },
      press: (action) => model.send({ press: action }),
      undo: () => model.send({ press: "undo" }),
      finishBy: (policy) => model.send({ finishBy: policy }),
    };
    const stepper = new Stepper(el, driver);
    const onView = () => stepper.show();
    const onProblem = () => stepper.complain(model.get("problem"));
    model.on("change:view", onView);
    model.on("change:problem", onProblem);
    return () => {
      model.off("change:view", onView);
      model.off("change:problem", onProblem);
      stepper.destroy();
    };
  },
};
