"""Two real models on two devices: sessions, runs, devices."""

from amusd_viz.engine.devices import Device, device_pair, parse_device
from amusd_viz.engine.run import Run
from amusd_viz.engine.session import Session
from amusd_viz.engine.settings import METHODS, RunSettings

__all__ = ["METHODS", "Device", "Run", "RunSettings", "Session", "device_pair", "parse_device"]
