"""The fixture itself: a real kernel, a live widget, both themes, and errors that are not swallowed."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

CELLS = [
    "print(6 * 7)",
    """
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = '''
    export default { render({ model, el }) {
        const button = document.createElement("button");
        button.className = "counter";
        const show = () => { button.textContent = "count " + model.get("count"); };
        button.onclick = () => { model.set("count", model.get("count") + 1); model.save_changes(); };
        model.on("change:count", show);
        show();
        el.append(button);
    } };
    '''
    count = traitlets.Int(0).tag(sync=True)

Counter()
""",
]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_notebook_runs_and_its_widget_lives(open_notebook, theme):
    notebook = open_notebook(CELLS, theme=theme)
    notebook.run_all()
    assert "42" in notebook.output(0)
    button = notebook.widget("button.counter")
    assert button.inner_text() == "count 0"
    button.click()
    notebook.page.get_by_text("count 1").wait_for()
    assert notebook.script_errors == []


def test_a_cell_that_raises_fails_the_run(open_notebook):
    notebook = open_notebook(["1 / 0"])
    with pytest.raises(AssertionError, match="cell 0: ZeroDivisionError"):
        notebook.run_all()


def test_pictures_are_found_as_in_the_repository(open_notebook):
    picture = "../assets/pictures/compare_light.svg"
    notebook = open_notebook([f"from IPython.display import Markdown; Markdown('![]({picture})')"])
    notebook.run_all()
    notebook.page.wait_for_function(
        "() => document.querySelector('.jp-RenderedMarkdown img')?.naturalWidth > 100"
    )
