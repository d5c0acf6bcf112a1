"""A Llama-shaped model in C: one file, compiled on the user's machine at first use."""

from amusd_viz.models.native.library import can_build, library
from amusd_viz.models.native.native_lm import NativeLM
from amusd_viz.models.native.weights import NativeWeights, can_run

__all__ = ["NativeLM", "NativeWeights", "can_build", "can_run", "library"]
