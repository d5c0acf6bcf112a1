"""What a reader predicted and got right, kept for this session; ``save`` writes it to hand in."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from amusd_viz.errors import SettingError

_predictions: dict[str, dict[str, Any]] = {}
_checks: dict[str, dict[str, Any]] = {}


def note_prediction(name: str, predicted: Any, *, committed: bool, actual: Any) -> None:
    _predictions[name] = {"predicted": predicted, "committed": committed, "actual": actual}


def note_check(name: str, *, right: bool) -> None:
    entry = _checks.setdefault(name, {"right": False, "tries": 0})
    entry["tries"] += not entry["right"]
    entry["right"] = entry["right"] or right


def save(path: str | Path, *, name: str = "") -> Path:
    """Writes predictions and checks to a small JSON file, adding to what it already holds.

    Args:
        path: such as ``my-answers.json``; several notebooks may share it.
        name: of the reader.

    Raises:
        SettingError: the file is something else, or cannot be written.
    """
    path = Path(path)
    kept: dict[str, Any] = {"kind": "amusd_viz answers", "predictions": {}, "checks": {}}
    if path.exists():
        kept = _read(path)
    kept["name"] = name or kept.get("name", "")
    kept["predictions"] |= _predictions
    kept["checks"] |= _checks
    kept["saved"] = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise SettingError(f"{path} cannot be written: {error.strerror}") from None
    return path


def forget() -> None:
    """Starts anew."""
    _predictions.clear()
    _checks.clear()


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["kind"] == "amusd_viz answers":
            return {"predictions": {}, "checks": {}} | found
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise SettingError(f"{path} is there and holds no answers; choose another name")
