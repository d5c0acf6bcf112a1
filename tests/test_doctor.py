"""What doctor finds, on machines that are put together here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from amusd_viz import doctor, machine
from amusd_viz.models.default_target import NAME

GIB = 1 << 30


@pytest.fixture
def system(monkeypatch, tmp_path):
    """An imaginary machine: a function that writes a file under its ``/proc`` or control groups."""
    monkeypatch.setattr(machine, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(machine, "_CGROUP", tmp_path / "cgroup")

    def write(name: str, text: object) -> None:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    return write


def test_no_limits_where_the_system_says_nothing(system):
    assert machine.cpu_quota() is None
    assert machine.memory_limit() is None
    assert machine.memory_available() is None
    assert machine.gpus() == 0


def test_the_tightest_limit_of_nested_groups_holds(system):
    system("proc/self/cgroup", "0::/user/student")
    system("proc/meminfo", f"MemTotal: {64 << 20} kB\nMemAvailable: {32 << 20} kB")
    system("cgroup/cpu.max", "max 100000")
    system("cgroup/user/cpu.max", "150000 100000")
    system("cgroup/user/student/cpu.max", "400000 100000")
    system("cgroup/memory.max", "max")
    system("cgroup/user/student/memory.max", 2 * GIB)
    system("cgroup/user/student/memory.current", GIB // 2)
    assert machine.cpu_quota() == 1.5
    assert machine.memory_limit() == 2 * GIB
    assert machine.memory_available() == 3 * GIB // 2


def test_limits_of_control_groups_version_1(system):
    system("proc/self/cgroup", "5:cpu,cpuacct:/docker/a\n4:memory:/docker/a\n0::/")
    system("cgroup/cpu/docker/a/cpu.cfs_quota_us", "50000")
    system("cgroup/cpu/docker/a/cpu.cfs_period_us", "100000")
    system("cgroup/memory/docker/a/memory.limit_in_bytes", GIB)
    system("cgroup/memory/memory.limit_in_bytes", (1 << 63) - 4096)
    assert machine.cpu_quota() == 0.5
    assert machine.memory_limit() == GIB


def test_without_the_engine_only_recordings(monkeypatch):
    monkeypatch.setattr(doctor, "missing_from", lambda packages: ("torch",))
    assert doctor.mode() == ("recordings", "not installed: torch")
    report = "\n".join(map(str, doctor.diagnose()))
    assert "MISS  mode: recordings only (not installed: torch)" in report
    assert 'pip install "amusd-viz[engine]"' in report


def test_with_too_little_memory_only_recordings(monkeypatch):
    monkeypatch.setattr(doctor, "missing_from", lambda packages: ())
    monkeypatch.setattr(machine, "memory_available", lambda: GIB)
    name, why = doctor.mode()
    assert name == "recordings"
    assert "1.0 GiB" in why
    monkeypatch.setattr(machine, "memory_available", lambda: 4 * GIB)
    assert doctor.mode()[0] == "engine"


def test_one_core_is_said_to_be_too_few(monkeypatch):
    monkeypatch.setattr(machine, "usable_cores", lambda: (0, 1, 2, 3))
    monkeypatch.setattr(machine, "cpu_quota", lambda: 1.0)
    assert "share one core" in str(doctor._cores())
    monkeypatch.setattr(machine, "cpu_quota", lambda: None)
    assert str(doctor._cores()).startswith("ok")


def test_the_default_target_is_found_in_either_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("AMUSD_VIZ_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("AMUSD_VIZ_SHARED_CACHE", str(tmp_path / "class"))
    assert "amusd_viz.models.default_target" in str(doctor._target())
    model = tmp_path / "class" / "models" / NAME
    model.mkdir(parents=True)
    (model / "model.safetensors").write_bytes(b"")
    assert str(doctor._target()) == f"ok    default target cached in {model}"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_a_server_of_another_environment_is_noticed(monkeypatch, tmp_path):
    other = tmp_path / "other"
    (other / "bin").mkdir(parents=True)
    (other / "bin" / "python").symlink_to(sys.executable)
    server = subprocess.Popen(
        [other / "bin" / "python", "-c", "print('up', flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        server.stdout.readline()
        monkeypatch.setenv("JPY_PARENT_PID", str(server.pid))
        report = "\n".join(map(str, doctor._widgets()))
        assert f"the Jupyter server runs from {other}" in report
        (other / "share/jupyter/labextensions/anywidget").mkdir(parents=True)
        assert "server" not in "\n".join(map(str, doctor._widgets()))
    finally:
        server.communicate(b"\n")


def test_no_kernel_no_server(monkeypatch):
    for parent in ("", "0", "not a number", str(os.getpid() + 10_000_000)):
        monkeypatch.setenv("JPY_PARENT_PID", parent)
        assert doctor._server_prefix() is None


def test_it_does_not_import_torch():
    code = (
        "import sys; from amusd_viz import doctor; doctor.show(); sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "mode: " in done.stdout
