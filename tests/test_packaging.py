"""What a stranger gets: a light import, a complete wheel, pins that fit, clean notebooks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import amusd_viz
from amusd_viz.errors import MissingExtraError

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENGINE_AND_LARGE = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "gguf", "psutil")

WITHOUT_ENGINE = f"""
import sys

class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] not in {ENGINE_AND_LARGE!r}:
            return self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Hiding, sys.meta_path)
"""
"""Makes a Python process believe that the extra ``[engine]`` is not installed."""


def python(code: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


# -- the import ------------------------------------------------------------------------------


def test_the_import_brings_nothing_large():
    large = {*ENGINE_AND_LARGE, "plotly", "ipywidgets", "anywidget", "pandas", "IPython", "rich"}
    done = python(f"import sys, amusd_viz; print(*sorted({large!r} & set(sys.modules)))")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", amusd_viz.__all__)
def test_every_public_name_is_there(name):
    try:
        value = getattr(amusd_viz, name)
    except MissingExtraError:
        pytest.skip("needs the engine")
    assert value is not None
    assert name in dir(amusd_viz)


def test_editors_see_the_names_that_are_imported_late():
    source = (ROOT / "amusd_viz" / "__init__.py").read_text()
    typed = source[source.index("if TYPE_CHECKING") : source.index("__all__")]
    for name in amusd_viz._HOMES:
        assert re.search(rf"\b{name}\b", typed), name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_thing"):
        amusd_viz.no_such_thing  # noqa: B018


# -- the wheel -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The wheel, built from this checkout and unpacked: what an installation has."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [sys.executable, *build, "--wheel-dir", str(folder), str(ROOT)],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_holds_what_the_checkout_holds(installed):
    for room, home in (("notebooks", "notebooks"), ("assets", "assets")):
        shipped = installed / "amusd_viz" / "_bundled" / home
        tracked = subprocess.run(
            ["git", "ls-files", room], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split("\n")
        for name in filter(None, tracked):
            assert (shipped / Path(name).relative_to(room)).is_file(), name
    for script in (ROOT / "amusd_viz").rglob("*.js"):
        assert (installed / script.relative_to(ROOT)).is_file(), script
    assert (installed / "amusd_viz" / "py.typed").is_file()
    assert not list(installed.rglob("__pycache__"))


def test_without_the_engine_recordings_open_and_are_shown(installed):
    done = python(
        WITHOUT_ENGINE
        + """
import amusd_viz
assert '_bundled' not in amusd_viz.__file__ and 'site' in amusd_viz.__file__, amusd_viz.__file__
assert amusd_viz.recordings(), 'no recordings'
for name in amusd_viz.recordings():
    trace = amusd_viz.recording(name)
    amusd_viz.Theater(trace)
print(*amusd_viz.recordings())
""",
        installed,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_without_the_engine_the_error_says_what_to_install(installed):
    done = python(
        WITHOUT_ENGINE
        + """
import amusd_viz
from amusd_viz.errors import MissingExtraError
for attempt in (lambda: amusd_viz.Session, lambda: amusd_viz.decode('Why?')):
    try:
        attempt()
    except MissingExtraError as error:
        assert 'pip install "amusd-viz[engine]"' in str(error)
    else:
        sys.exit('no error')
from amusd_viz import doctor
assert doctor.mode()[0] == 'recordings'
""",
        installed,
    )
    assert done.returncode == 0, done.stderr


def test_notebooks_can_be_copied_out_of_the_wheel(installed, tmp_path):
    done = python(
        f"""
from pathlib import Path
from amusd_viz.notebook_copy import copy_notebooks
print(*copy_notebooks(Path({str(tmp_path)!r})), sep='\\n')
""",
        installed,
    )
    assert done.returncode == 0, done.stderr
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert (tmp_path / "notebooks" / notebook.name).read_bytes() == notebook.read_bytes()
    for copy in tmp_path.glob("notebooks/*.ipynb"):
        for link in re.findall(r"\.\./assets/[\w./-]*\w", copy.read_text()):
            assert (copy.parent / link).is_file(), f"{copy.name} links to {link}"


# -- pins and environments -------------------------------------------------------------------


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pinned}


def declared(*extras: str) -> list[Requirement]:
    groups = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][e] for e in extras)]
    return [Requirement(text) for group in groups for text in group]


def test_every_dependency_is_pinned_to_a_version_that_is_allowed():
    pinned = pins()
    for requirement in declared(*PROJECT["optional-dependencies"]):
        version = pinned.get(canonicalize_name(requirement.name))
        assert version, f"{requirement.name} is not in constraints.txt"
        assert requirement.specifier.contains(version), f"{requirement} but {version} is pinned"
    assert not [version for version in pinned.values() if "+" in version]


@pytest.mark.parametrize(
    ("file", "extras"), [("environment.yml", ("engine",)), (".binder/environment.yml", ())]
)
def test_conda_environments_name_what_the_package_needs(file, extras):
    text = (ROOT / file).read_text()
    named = set(re.findall(r"^  - ([\w-]+)", text, re.MULTILINE))
    wanted = {canonicalize_name(r.name) for r in declared(*extras)}
    renamed = {"torch": "pytorch"}
    assert named >= {renamed.get(name, name) for name in wanted}
    assert "- conda-forge\n  - nodefaults" in text
    assert re.search(r"- python=3\.\d+$", text, re.MULTILINE)
    if not extras:
        assert not named & {"pytorch", "transformers"}


# -- notebooks -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.name)
def test_committed_notebooks_carry_no_widget_state(path):
    assert path.stat().st_size < 200_000
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert "widgets" not in notebook["metadata"], "clear the widget state before committing"
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            assert "application/vnd.jupyter.widget-view+json" not in output.get("data", {})
            assert output["output_type"] != "error"
