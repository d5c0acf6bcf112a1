"""Energy of the GPUs, where NVIDIA's management library counts it."""

from __future__ import annotations

import ctypes

from amusd_viz import machine

_LIBRARY = "libnvidia-ml.so.1"


class EnergyMeter:
    """Joules that all GPUs have used since the driver was loaded.

    Reads ``nvmlDeviceGetTotalEnergyConsumption``, which Volta and later GPUs have.
    """

    def __init__(self) -> None:
        self._library: ctypes.CDLL | None = None
        self._devices: list[ctypes.c_void_p] = []
        if machine.gpus():
            self._open()

    def _open(self) -> None:
        try:
            library = ctypes.CDLL(_LIBRARY)
        except OSError:
            return
        count = ctypes.c_uint()
        if library.nvmlInit_v2() or library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
            return
        for index in range(count.value):
            device = ctypes.c_void_p()
            if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0:
                self._devices.append(device)
        self._library = library

    def joules(self) -> float | None:
        """``None`` where nothing counts energy."""
        if self._library is None:
            return None
        total = 0
        for device in self._devices:
            millijoules = ctypes.c_ulonglong()
            if self._library.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(millijoules)):
                return None
            total += millijoules.value
        return total / 1e3 if self._devices else None
