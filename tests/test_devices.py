"""Devices by name: what exists is found, what does not is a sentence."""

from __future__ import annotations

import pytest

from amusd_viz import machine
from amusd_viz.engine import devices
from amusd_viz.errors import DeviceError


@pytest.fixture(autouse=True)
def six_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "usable_cores", lambda: (0, 1, 2, 4, 5, 6))
    monkeypatch.setattr(devices, "gpu_count", lambda: 0)


def test_names_and_labels() -> None:
    device = devices.parse_device("cpu:0-2,5")
    assert device.cores == (0, 1, 2, 5)
    assert device.name == "cpu:0-2,5"
    assert device.threads == 4
    assert device.described().label.startswith("CPU cores 0-2,5")
    assert devices.parse_device("cpu:4").described().label.startswith("CPU core 4")


def test_the_cores_are_split_in_two() -> None:
    draft, target = devices.device_pair(None, None)
    assert (draft.cores, target.cores) == ((0, 1, 2), (4, 5, 6))


@pytest.mark.parametrize(("quota", "count"), [(None, 6), (2.0, 2), (1.0, 2), (3.6, 4), (99.0, 6)])
def test_no_more_cores_than_the_quota_of_the_container_feeds(monkeypatch, quota, count) -> None:
    monkeypatch.setattr(machine, "cpu_quota", lambda: quota)
    draft, target = devices.device_pair(None, None)
    assert draft.threads + target.threads == count
    assert not set(draft.cores) & set(target.cores)
    assert set(draft.cores + target.cores) <= {0, 1, 2, 4, 5, 6}


def test_containers_of_one_machine_do_not_crowd_the_first_cores(monkeypatch) -> None:
    monkeypatch.setattr(machine, "cpu_quota", lambda: 2.0)
    chosen = set()
    for pid in range(100, 120):
        monkeypatch.setattr(machine.os, "getpid", lambda pid=pid: pid)
        chosen.add(machine.within_quota(range(64)))
    assert len(chosen) > 8
    assert {len(cores) for cores in chosen} == {2}


def test_the_other_device_is_what_is_left() -> None:
    draft, target = devices.device_pair("cpu:0", None)
    assert (draft.cores, target.cores) == ((0,), (1, 2, 4, 5, 6))


def test_one_core_is_shared_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "usable_cores", lambda: (3,))
    draft, target = devices.device_pair(None, None)
    assert draft == target
    assert "shared by both models" in draft.described().label


def test_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "gpu_count", lambda: 2)
    draft, target = devices.device_pair(None, None)
    assert (draft.name, target.name) == ("cuda:1", "cuda:0")
    same, _ = devices.device_pair("cuda:0", "cuda:0")
    assert "shared" in same.described("GPU").label
    monkeypatch.setattr(devices, "gpu_count", lambda: 1)
    draft, target = devices.device_pair(None, None)
    assert draft == target
    assert draft.shared


@pytest.mark.parametrize(
    ("draft", "target", "says"),
    [
        ("cpu:0", "cpu:0", "both name CPU core 0"),
        ("cpu:0-2", "cpu:2-4", "may not use CPU core 3"),
        ("cpu:9", None, "may not use CPU core 9"),
        ("cuda:0", None, "no CUDA GPU was found"),
        ("gpu", None, "'gpu' is not a device"),
        ("cpu:", None, "is not a device"),
        ("cpu:-1", None, "is not a device"),
        ("cpu:2-0", None, "empty"),
        ("cpu:0,0", None, "named twice"),
        ("cpu:0-2,4-6", None, "leaves no CPU core"),
        ("cpu:99999999999", None, "is not a device"),
    ],
)
def test_refused_in_one_sentence(draft: str, target: str | None, says: str) -> None:
    with pytest.raises(DeviceError, match=says):
        devices.device_pair(draft, target)
