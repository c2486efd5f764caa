"""Edits of code, layers and template while the stage runs."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from pathlib import Path

import pytest

from localstage.core.errors import StageError
from localstage.core.model import Layer
from localstage.functions import FunctionPool
from tests.contract.localstage.functions.functions_harness import ECHO, PID, Stage, answer_of, error_of, state_of, until


async def reloaded(pool: FunctionPool, id: str = "Fn") -> None:
    """Wait until an edit has ended the idle environments."""
    await until(lambda: pool.status()[id].environments == 0)


def returning(value: object) -> str:
    return f"def handler(event, context):\n    return {value!r}\n"


async def test_the_event_after_an_edit_runs_the_new_code(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "localstage.functions")
    function = stage.function(returning(1))
    pool = await stage.run(function)
    assert await answer_of(pool) == 1

    # Same size, and usually the same second: a bytecode cache does not detect the edit.
    for value in (2, 3, 4, 5):
        (function.code / "app.py").write_text(returning(value))
        await reloaded(pool)
        assert await answer_of(pool) == value

    assert caplog.messages == [f"Fn reloaded ({function.code / 'app.py'})"] * 4


async def test_a_file_replaced_by_an_editor_counts_as_an_edit(stage: Stage) -> None:
    function = stage.function(returning(1))
    pool = await stage.run(function)
    assert await answer_of(pool) == 1

    (function.code / "app.py.new").write_text(returning(2))
    (function.code / "app.py.new").replace(function.code / "app.py")
    await reloaded(pool)

    assert await answer_of(pool) == 2


async def test_an_edit_does_not_fail_the_events_in_flight_or_waiting(stage: Stage) -> None:
    source = "import time\ndef handler(event, context):\n    time.sleep(0.005)\n    return {value}\n"
    function = stage.function(source.format(value=0))
    pool = await stage.run(function, max_environments=2)

    async def edit() -> None:
        for value in range(1, 9):
            await asyncio.sleep(0.06)
            (function.code / "app.py").write_text(source.format(value=value))

    answers, _ = await asyncio.gather(asyncio.gather(*(answer_of(pool) for _ in range(250))), edit())

    assert set(answers) <= set(range(9))
    while await answer_of(pool) != 8:  # noqa: ASYNC110  (the answer itself is what is waited for)
        await asyncio.sleep(0.01)


async def test_an_edit_of_another_function_restarts_no_environment_of_this_one(stage: Stage) -> None:
    other = stage.function(ECHO, id="Other")
    pool = await stage.run(stage.function(PID), other)
    pid = await answer_of(pool)

    assert await answer_of(pool, 0, id="Other") == 0
    (other.code / "app.py").write_text(returning(1))
    await reloaded(pool, "Other")

    assert await answer_of(pool) == pid
    assert await answer_of(pool, id="Other") == 1


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


async def test_layers_are_imported_from_their_python_folder_and_the_later_wins(stage: Stage, tmp_path: Path) -> None:
    layers = []
    for name in ("first", "second"):
        (tmp_path / name / "python").mkdir(parents=True)
        (tmp_path / name / "python" / "both.py").write_text(f"name = {name!r}\n")
        layers.append(Layer(name, tmp_path / name, None))
    source = "import both\ndef handler(event, context):\n    return both.name\n"
    paths = {layer.id: layer.content for layer in layers}
    pool = await stage.run(stage.function(source, layers=tuple(layers)), layer_paths=paths)

    assert await answer_of(pool) == "second"


async def test_broken_code_fails_until_it_is_fixed(stage: Stage) -> None:
    function = stage.function(returning(1))
    pool = await stage.run(function)
    assert await answer_of(pool) == 1

    (function.code / "app.py").write_text("def handler(\n")
    await reloaded(pool)
    assert error_of(await pool.invoke("Fn", b"1")) == "Runtime.UserCodeSyntaxError"
    (function.code / "app.py").write_text(returning(2))

    assert await answer_of(pool) == 2


async def test_a_changed_template_restarts_only_changed_functions(stage: Stage) -> None:
    source = "import os\ndef handler(event, context):\n    return [os.getpid(), os.environ.get('SIZE')]\n"
    changed, same, lost = (stage.function(source, id=id) for id in ("Changed", "Same", "Lost"))
    pool = await stage.run(changed, same, lost)
    before = {id: await answer_of(pool, id=id) for id in ("Changed", "Same", "Lost")}

    changed = dataclasses.replace(changed, environment={"SIZE": "2"})
    new = stage.function(ECHO, id="New")
    await pool.replace({function.id: function for function in (changed, same, new)})

    assert (await answer_of(pool, id="Changed"))[1] == "2"
    assert await answer_of(pool, id="Same") == before["Same"]
    assert await answer_of(pool, 3, id="New") == 3
    with pytest.raises(KeyError):
        await pool.invoke("Lost", b"1")
    await until(lambda: state_of(before["Lost"][0]) is None)


async def test_a_function_removed_from_the_template_finishes_its_events(stage: Stage) -> None:
    source = "import os, time\ndef handler(event, context):\n    time.sleep(event)\n    return os.getpid()\n"
    pool = await stage.run(stage.function(source, reserved_concurrency=1))
    pid = await answer_of(pool, 0)
    running = asyncio.create_task(answer_of(pool, 0.3))
    waiting = asyncio.create_task(answer_of(pool, 0))
    await until(lambda: pool.status()["Fn"].waiting == 1)

    await pool.replace({})

    assert await running == pid
    with pytest.raises(StageError, match="removed from the template"):
        await waiting
    await until(lambda: state_of(pid) is None)
