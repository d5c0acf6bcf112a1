"""Memory in pages of two megabytes, where the system gives them.

A pass reads all weights once. In pages of four kilobytes the processor would look up tens of thousands
of addresses on the way, which costs about an eighth of a one-row pass.
"""

from __future__ import annotations

import contextlib
import math
import mmap

import torch

CHUNK = 32 << 20
_ALIGNED = 64


class Arena:
    """Keeps tensors in a few large pieces of memory, for as long as it lives itself."""

    def __init__(self) -> None:
        self._chunks: list[torch.Tensor] = []
        self._used = 0

    def keep(self, tensor: torch.Tensor) -> torch.Tensor:
        """A contiguous copy of a tensor."""
        copy = self.empty(tensor.shape, tensor.dtype)
        copy.copy_(tensor)
        return copy

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Memory for a tensor; zeros, until something is written."""
        size = math.prod(shape) * dtype.itemsize
        if not self._chunks or self._used + size > len(self._chunks[-1]):
            self._chunks.append(_pages(max(CHUNK, size)))
            self._used = 0
        start = self._used
        self._used += -(-size // _ALIGNED) * _ALIGNED
        return self._chunks[-1][start : start + size].view(dtype).view(shape)


def _pages(size: int) -> torch.Tensor:
    """Zeroed memory of its own, of so many bytes."""
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a system without them: the pages stay small
            pages.madvise(mmap.MADV_HUGEPAGE)
    return torch.frombuffer(pages, dtype=torch.uint8)
