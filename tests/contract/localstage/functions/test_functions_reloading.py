"""Edits of code, layers and template while the stage runs."""

from __future__ import annotations

from pathlib import Path

from localstage.core.model import Layer
from localstage.functions import FunctionPool
from tests.contract.localstage.functions.functions_harness import Stage, answer_of, until


async def reloaded(pool: FunctionPool, id: str = "Fn") -> None:
    """Wait until an edit has ended the idle environments."""
    await until(lambda: pool.status()[id].environments == 0)


async def test_an_edit_of_a_layer_reaches_all_its_users(stage: Stage, tmp_path: Path) -> None:
    package = tmp_path / "layers" / "shared" / "shared"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("value = 1\n")
    layer = Layer("SharedLayer", package.parent, None)
    source = "import shared\ndef handler(event, context):\n    return shared.value\n"
    users = [stage.function(source, id=id, layers=(layer,)) for id in ("A", "B")]
    pool = await stage.run(*users, layer_paths={"SharedLayer": package.parent})
    assert [await answer_of(pool, id=id) for id in "AB"] == [1, 1]

    (package / "__init__.py").write_text("value = 2\n")
    for id in "AB":
        await reloaded(pool, id)

    assert [await answer_of(pool, id=id) for id in "AB"] == [2, 2]
    assert sorted(each.name for each in package.iterdir()) == ["__init__.py"]
