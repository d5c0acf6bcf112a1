// A piece of code to take along: a button copies it, or selects it where copying is not allowed.

import { element, button } from "./elements.js";
import { say } from "./sentences.js";

export default {
  render({ model, el }) {
    const code = element("pre", "amusd-code", { tabindex: "0", "aria-label": say("code") });
    const said = element("span", "amusd-copied", { role: "status" });
    const copy = button("copy", say("word_copy"), say("button_copy"), async () => {
      said.textContent = say((await copied(code)) ? "copied" : "selected");
    });
    el.append(element("div", "amusd-copyable", {}, [code, copy, said]));
    const show = () => {
      code.textContent = model.get("text");
      said.textContent = "";
    };
    model.on("change:text", show);
    show();
    return () => model.off("change:text", show);
  },
};

// Whether the text is on the clipboard; otherwise it is selected, ready for the keys.
async function copied(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    code.focus();
    return document.execCommand("copy");
  }
}
