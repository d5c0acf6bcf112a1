"""One copy of the models for a class: a folder that is only read."""

from __future__ import annotations

import pytest

from amusd_viz import doctor, paths
from amusd_viz.errors import ModelError
from amusd_viz.models import default_target


@pytest.fixture
def caches(monkeypatch, tmp_path):
    """The user's own cache, empty and not to be written to, and a shared one."""
    own, shared = tmp_path / "own", tmp_path / "shared"
    own.write_text("a file where the folder should be: nothing can be written")
    model = shared / "models" / default_target.NAME
    model.mkdir(parents=True)
    monkeypatch.setenv("AMUSD_VIZ_CACHE", str(own))
    monkeypatch.setenv("AMUSD_VIZ_SHARED_CACHE", str(shared))
    return model


def test_the_shared_copy_is_used_and_nothing_is_fetched(caches, monkeypatch):
    monkeypatch.setattr(default_target, "_fetch", lambda _: pytest.fail("it was fetched"))
    (caches / "model.safetensors").touch()
    assert default_target.default_target() == caches
    assert default_target.is_cached()
    assert f"default target cached in {caches}" in [f.what for f in doctor.diagnose()]
    assert sorted(p.name for p in caches.iterdir()) == ["model.safetensors"]


def test_an_empty_shared_cache_is_no_cache(caches):
    assert paths.cached("models", default_target.NAME, "model.safetensors") is None
    with pytest.raises(ModelError, match="set AMUSD_VIZ_CACHE to a folder you can write to"):
        default_target.default_target()
