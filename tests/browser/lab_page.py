"""One notebook open in JupyterLab, as a test drives it."""

from __future__ import annotations

from pathlib import Path

from browser.lab_server import LabServer
from playwright.sync_api import BrowserContext, ConsoleMessage, Locator, Page

THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
LOAD_LIMIT = 90_000
"""Milliseconds that loading the page or starting a kernel may take on a busy machine."""

_PANEL = "[...window.jupyterapp.shell.widgets('main')].find(one => one.sessionContext)"

_IDLE = f"""() => {{
    const panel = {_PANEL};
    if (!panel || !panel.context.isReady || !panel.sessionContext.isReady) return false;
    const session = panel.sessionContext.session;
    return Boolean(session && session.kernel) && session.kernel.status === 'idle';
}}"""

_ACTIVATE = f"() => window.jupyterapp.shell.activateById(({_PANEL}).id)"

_ERRORS = f"""() => {{
    const cells = {_PANEL}.content.model.cells;
    const found = [];
    for (let i = 0; i < cells.length; i++)
        for (const output of cells.get(i).toJSON().outputs || [])
            if (output.output_type === 'error')
                found.push(`cell ${{i}}: ${{output.ename}}: ${{output.evalue}}`);
    return found;
}}"""


class LabPage:
    """A notebook open in JupyterLab.

    Attributes:
        page: Playwright's page, for everything this class does not do.
        script_errors: what JavaScript threw or logged as an error on this page.
    """

    def __init__(self, context: BrowserContext, server: LabServer, name: str, theme: str) -> None:
        self.name = name
        self.workspace = Path(name).stem
        self.script_errors: list[str] = []
        self._context = context
        self._server = server
        self._theme = THEMES[theme]
        self.page: Page = context.new_page()
        self.page.set_default_timeout(30_000)
        self.page.on("pageerror", lambda error: self.script_errors.append(str(error)))
        self.page.on("console", self._note_console)

    def open(self) -> None:
        """Loads the page and waits until the kernel is ready."""
        place = f"/lab/workspaces/{self.workspace}/tree/{self.name}"
        address = f"{self._server.url}{place}?token={self._server.token}"
        self.page.goto(address, timeout=LOAD_LIMIT)
        self.page.wait_for_function("() => window.jupyterapp", timeout=LOAD_LIMIT)
        self.page.evaluate("() => window.jupyterapp.restored")
        self.page.wait_for_function(_IDLE, timeout=LOAD_LIMIT)
        self.command("apputils:change-theme", theme=self._theme)
        light = "true" if self._theme == THEMES["light"] else "false"
        self.page.wait_for_selector(f'body[data-jp-theme-light="{light}"]', state="attached")
        self._collapse_sidebar()
        self.page.evaluate(_ACTIVATE)

    def close(self) -> None:
        """Closes the page and ends its kernel."""
        self._context.close()
        self._server.delete_session(self.name)

    def command(self, name: str, **arguments: object) -> None:
        """Runs one of JupyterLab's commands and waits for it."""
        self.page.evaluate(
            "([name, given]) => window.jupyterapp.commands.execute(name, given).then(() => null)",
            [name, arguments],
        )

    def run_all(self, *, errors_allowed: bool = False, limit: float = 300) -> None:
        """Runs all cells and waits until they are done and their widgets have drawn.

        Args:
            errors_allowed: do not fail where a cell raised.
            limit: seconds to wait.
        """
        self.page.set_default_timeout(limit * 1000)
        try:
            self.page.evaluate(_ACTIVATE)
            self.command("notebook:run-all-cells")
        finally:
            self.page.set_default_timeout(30_000)
        self.settle()
        errors = self.page.evaluate(_ERRORS)
        assert errors_allowed or not errors, "\n".join(errors)

    def settle(self) -> None:
        """Waits until the kernel is idle and the page has drawn twice."""
        self.page.wait_for_function(_IDLE, timeout=LOAD_LIMIT)
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
            ".then(() => null)"
        )

    def widget(self, css: str) -> Locator:
        """The root of the first widget that matches ``css``, scrolled into view and visible."""
        root = self.page.locator(f".jp-Notebook {css}").first
        root.wait_for(state="attached")
        root.scroll_into_view_if_needed()
        root.wait_for(state="visible")
        return root

    def output(self, cell: int) -> str:
        """The text of the outputs of one cell, as the page shows it."""
        outputs = self.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".jp-OutputArea")
        return outputs.first.inner_text()

    def screenshot(self, path: Path | str) -> Path:
        """A picture of the whole window."""
        self.page.screenshot(path=path)
        return Path(path)

    def _collapse_sidebar(self) -> None:
        if self.page.evaluate("() => !window.jupyterapp.shell.leftCollapsed"):
            self.command("application:toggle-left-area")

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.script_errors.append(message.text)
