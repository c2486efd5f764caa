"""Layers and the runtime are built with uv, from a package on disk."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from localstage.core.errors import StageError
from localstage.core.model import Layer
from localstage.functions import build


def wheel(folder: Path, version: str) -> str:
    """Make a package ``tiny``; returns the line that requires it."""
    path = folder / f"tiny-{version}-py3-none-any.whl"
    info = f"tiny-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny.py", f"version = {version!r}\n")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return f"tiny @ {path.as_uri()} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


@pytest.fixture
def layer(tmp_path: Path) -> Layer:
    content = tmp_path / "layers" / "tiny"
    content.mkdir(parents=True)
    (content / "requirements.txt").write_text(wheel(tmp_path, "1.0"))
    return Layer("TinyLayer", content, content / "requirements.txt")


@pytest.fixture
def no_runtime(tmp_path: Path) -> Path:
    (tmp_path / "runtime.txt").write_text("")
    return tmp_path / "runtime.txt"


async def test_a_built_layer_is_reused_until_its_requirements_change(
    tmp_path: Path, layer: Layer, no_runtime: Path
) -> None:
    first = await build([layer], tmp_path / "state", runtime_requirements=no_runtime)
    made = first.layers["TinyLayer"].stat().st_ctime_ns

    again = await build([layer], tmp_path / "state", runtime_requirements=no_runtime)
    assert (again, again.layers["TinyLayer"].stat().st_ctime_ns) == (first, made)

    (layer.content / "requirements.txt").write_text(wheel(tmp_path, "2.0"))
    changed = (await build([layer], tmp_path / "state", runtime_requirements=no_runtime)).layers["TinyLayer"]
    assert "2.0" in (changed / "python" / "tiny.py").read_text()


async def test_a_failed_install_is_one_error_and_is_repeated(tmp_path: Path, layer: Layer, no_runtime: Path) -> None:
    good = (layer.content / "requirements.txt").read_text()
    (layer.content / "requirements.txt").write_text(good.replace("sha256:", "sha256:0000"))

    with pytest.raises(StageError, match="The packages of layers/TinyLayer could not be installed: "):
        await build([layer], tmp_path / "state", runtime_requirements=no_runtime)

    (layer.content / "requirements.txt").write_text(good)
    built = await build([layer], tmp_path / "state", runtime_requirements=no_runtime)
    assert (built.layers["TinyLayer"] / "python" / "tiny.py").exists()
