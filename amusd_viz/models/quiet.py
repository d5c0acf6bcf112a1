"""Keeps the loading messages of transformers out of notebooks; errors still come through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import transformers


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silences progress bars and warnings of transformers inside the block."""
    logging = transformers.utils.logging
    level = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
