"""A JupyterLab server of the tests' own."""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import nbformat
import psutil

PR_SET_PDEATHSIG = 1

START_LIMIT = 120
"""Seconds after which a server that does not answer is given up."""

REPOSITORY = Path(__file__).parents[2]

SETTINGS = {
    # No question about news on the first start, and no request to the outside.
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/completer-extension/manager": {"autoCompletion": False},
}


class LabServer:
    """JupyterLab on a random port, with all of its folders inside ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.token = secrets.token_hex(16)
        self.port = _free_port()
        self.log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._copies = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, notebook: nbformat.NotebookNode) -> str:
        """Puts a notebook beside the assets, under a name of its own, and returns the name."""
        self._copies += 1
        name = f"notebooks/notebook-{self._copies}.ipynb"
        nbformat.write(notebook, self.root / name)
        return name

    def start(self) -> None:
        (self.root / "notebooks").mkdir(parents=True)
        # Copied: the server shows no file whose link leads out of its root.
        shutil.copytree(REPOSITORY / "assets" / "pictures", self.root / "assets" / "pictures")
        self._write_settings()
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment(),
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
            )
        self._wait_until_it_answers()

    def stop(self) -> None:
        """Ends the server and everything it started."""
        if self._process is None or self._process.poll() is not None:
            return
        family = psutil.Process(self._process.pid).children(recursive=True)
        try:
            self._ask("/api/shutdown", method="POST")
            self._process.wait(15)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        left = psutil.wait_procs(family, timeout=5)[1]
        for process in left:
            process.kill()

    def delete_session(self, name: str) -> None:
        """Ends the kernel of one notebook, if the server is still there."""
        if self._process is None or self._process.poll() is not None:
            return
        for session in json.loads(self._ask("/api/sessions")):
            if session["path"] == name:
                self._ask(f"/api/sessions/{session['id']}", method="DELETE")

    def _command(self) -> list[str]:
        return [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={self.port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.root}",
            f"--IdentityProvider.token={self.token}",
            "--LabApp.expose_app_in_browser=True",
            f"--LabApp.user_settings_dir={self.folder / 'settings'}",
            f"--LabApp.workspaces_dir={self.folder / 'workspaces'}",
            # Where nothing tells it that the tests were killed; longer than any test may take.
            "--ServerApp.shutdown_no_activity_timeout=3600",
        ]

    def _environment(self) -> dict[str, str]:
        folders = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "IPYTHONDIR": "ipython",
        }
        own = {name: str(self.folder / place) for name, place in folders.items()}
        return {**os.environ, **own, "JUPYTER_NO_CONFIG": "", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}

    def _write_settings(self) -> None:
        for plugin, values in SETTINGS.items():
            file = self.folder / "settings" / f"{plugin}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values))

    def _wait_until_it_answers(self) -> None:
        give_up = time.monotonic() + START_LIMIT
        while time.monotonic() < give_up:
            if self._process.poll() is not None:
                break
            try:
                self._ask("/api/status")
                return
            except OSError:
                time.sleep(0.2)
        self.stop()
        raise RuntimeError(
            f"JupyterLab did not start; its log ends:\n{self.log.read_text()[-3000:]}"
        )

    def _ask(self, path: str, method: str = "GET") -> bytes:
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(self.url + path, method=method, headers=headers)
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=10) as answer:
            return answer.read()


def _end_with_parent() -> None:
    """Asks Linux to end this process when the tests are gone, however they went."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
