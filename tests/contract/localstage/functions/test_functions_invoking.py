"""Invocations: the answer to the caller, and the environment of the function."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.contract.localstage.functions.functions_harness import (
    Stage,
    answer_of,
    error_of,
    state_of,
    switches_of,
    until,
)


async def test_the_environment_has_the_declared_variables_and_lambdas_only(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("SECRET_OF_THE_DEVELOPER", "x")
    source = """
        import os
        first = dict(os.environ)
        def handler(event, context):
            return [first, os.environ["_X_AMZN_TRACE_ID"], os.getcwd()]
    """
    function = stage.function(source, environment={"ROOMS": "7", "EMPTY": "", "AWS_REGION": "not-yours"}, memory=300)
    pool = await stage.run(function, base_environment={"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "local"})

    seen, trace, cwd = await answer_of(pool)

    assert seen.pop("AWS_LAMBDA_LOG_STREAM_NAME").count("[$LATEST]") == 1
    assert seen.pop("AWS_LAMBDA_RUNTIME_API").startswith("127.0.0.1:")
    assert seen == {
        "ROOMS": "7",
        "EMPTY": "",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_EXECUTION_ENV": f"AWS_Lambda_python{sys.version_info[0]}.{sys.version_info[1]}",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "300",
        "AWS_LAMBDA_FUNCTION_NAME": "fn",
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/fn",
        "LAMBDA_RUNTIME_DIR": str(stage.runtime.absolute()),
        "LAMBDA_TASK_ROOT": str(function.code),
        "_HANDLER": "app.handler",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
    }
    assert trace.startswith("Root=1-")
    assert cwd == str(function.code)


async def test_the_context_names_the_request_the_function_and_the_time_left(stage: Stage) -> None:
    source = """
        def handler(event, context):
            return [context.aws_request_id, context.invoked_function_arn, context.get_remaining_time_in_millis()]
    """
    pool = await stage.run(stage.function(source, timeout=5.0))

    first, arn, left = await answer_of(pool)
    second, _, _ = await answer_of(pool)

    assert len(first) == 36
    assert first != second
    assert arn == "arn:aws:lambda:eu-central-1:123456789012:function:fn"
    assert 0 < left <= 5000


async def test_a_function_can_import_the_runtime_but_no_development_package(stage: Stage) -> None:
    source = """
        import importlib.util, sys
        def handler(event, context):
            return [[name for name in event if importlib.util.find_spec(name)], sys.path]
    """
    function = stage.function(source)
    pool = await stage.run(function)

    found, path = await answer_of(pool, ["boto3", "awslambdaric", "aiohttp", "pytest", "pip", "localstage", "headrace"])

    assert found == ["boto3", "awslambdaric"]
    assert path[:2] == [str(function.code), str(stage.runtime.absolute())]
    assert not [entry for entry in path if "site-packages" in entry]


async def test_a_response_over_six_megabytes_is_lambdas_error(stage: Stage) -> None:
    pool = await stage.run(stage.function("def handler(event, context):\n    return 'x' * event\n"))

    assert len(await answer_of(pool, 6 * 1024 * 1024)) == 6 * 1024 * 1024
    large = await pool.invoke("Fn", b"%d" % (6 * 1024 * 1024 + 99))

    assert (large.error, error_of(large)) == ("Unhandled", "Function.ResponseSizeTooLarge")
    assert await answer_of(pool, 1) == "x"


async def test_reserved_concurrency_bounds_the_environments_and_events_wait(stage: Stage) -> None:
    source = (
        "import os\nseen = []\ndef handler(event, context):\n    seen.append(event)\n    return [os.getpid(), seen]\n"
    )
    pool = await stage.run(stage.function(source, reserved_concurrency=1))

    answers = await asyncio.gather(*(answer_of(pool, n) for n in range(6)))

    assert len({pid for pid, _ in answers}) == 1
    assert answers[-1][1] == list(range(6))


async def test_an_idle_environment_is_frozen_until_its_next_event(stage: Stage) -> None:
    source = """
        import os, threading, time
        ticks = 0
        def tick():
            global ticks
            while True:
                time.sleep(0.001)
                ticks += 1
        threading.Thread(target=tick, daemon=True).start()
        def handler(event, context):
            time.sleep(event)
            return [os.getpid(), ticks]
    """
    pool = await stage.run(stage.function(source))
    pid, _ = await answer_of(pool, 0)

    # The first thread can be stopped a moment before the others.
    await until(lambda: {state_of(int(each.name)) for each in Path(f"/proc/{pid}/task").iterdir()} == {"T"})
    assert pool.status()["Fn"].frozen == 1
    ran = switches_of(pid)
    await asyncio.sleep(0.3)
    assert (state_of(pid), switches_of(pid)) == ("T", ran)
    same, after = await answer_of(pool, 0)
    _, later = await answer_of(pool, 0.2)

    assert same == pid
    assert later > after


async def test_a_cancelled_running_call_lets_the_event_finish(stage: Stage) -> None:
    source = """
        import time
        seen = []
        def handler(event, context):
            time.sleep(0.1)
            seen.append(event)
            return seen
    """
    pool = await stage.run(stage.function(source), max_environments=1)
    await answer_of(pool, 1)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(answer_of(pool, 2), 0.02)

    assert await answer_of(pool, 3) == [1, 2, 3]
