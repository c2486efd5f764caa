"""Functions raise, exit, hang or cannot be imported, and stages are killed; no process is left."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from tests.contract.localstage.functions.functions_harness import ECHO, Stage, answer_of, error_of, state_of, until


async def test_an_exception_is_answered_with_its_type_message_and_trace(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "localstage.functions")
    pool = await stage.run(stage.function("def handler(event, context):\n    raise ValueError(event)\n"))

    answer = await pool.invoke("Fn", b'"a confidential text"')

    assert answer.error == "Unhandled"
    said = json.loads(answer.payload)
    assert (said["errorType"], said["errorMessage"]) == ("ValueError", "a confidential text")
    assert 'app.py", line 2, in handler' in said["stackTrace"][0]
    assert caplog.messages == ["Fn failed: ValueError (make logs FUNCTION=Fn)"]
    assert "[ERROR] ValueError: a confidential text\nTraceback" in stage.log()


async def test_a_timed_out_function_is_killed_and_the_next_event_is_a_cold_start(stage: Stage) -> None:
    source = "import os, time\ndef handler(event, context):\n    time.sleep(event)\n    return os.getpid()\n"
    pool = await stage.run(stage.function(source, timeout=0.5))
    pid = await answer_of(pool, 0)

    answer = await pool.invoke("Fn", b"60")

    assert answer.error == "TimedOut"
    said = json.loads(answer.payload)
    assert said["errorType"] == "Sandbox.Timedout"
    assert said["errorMessage"].endswith("Error: Task timed out after 0.50 seconds")
    assert await answer_of(pool, 0) != pid
    await until(lambda: state_of(pid) is None)
    assert "Task timed out after 0.50 seconds" in stage.log()


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("sys.exit(3)", "exit status 3"),
        ("os._exit(0)", "Runtime exited without providing a reason"),
        ("os.kill(os.getpid(), 9)", "signal: killed"),
    ],
)
async def test_a_process_that_ends_in_the_middle_is_an_exit_error(stage: Stage, end: str, reason: str) -> None:
    source = f"import os, sys\ndef handler(event, context):\n    if event:\n        {end}\n    return event\n"
    pool = await stage.run(stage.function(source))

    answer = await pool.invoke("Fn", b"true")

    assert (answer.error, error_of(answer)) == ("Unhandled", "Runtime.ExitError")
    assert reason in json.loads(answer.payload)["errorMessage"]
    assert await answer_of(pool, False) is False


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import no_such_package\n", "Runtime.ImportModuleError"),
        ("def handler(:\n", "Runtime.UserCodeSyntaxError"),
        ("def other(event, context): ...\n", "Runtime.HandlerNotFound"),
        ("raise ZeroDivisionError\n", "ZeroDivisionError"),
        ("import sys; sys.exit(1)\n", "Runtime.ExitError"),
    ],
)
async def test_a_function_that_cannot_be_loaded_logs_the_reason_and_is_retried(
    stage: Stage, source: str, kind: str
) -> None:
    function = stage.function(source)
    pool = await stage.run(function)

    answers = await asyncio.gather(*(pool.invoke("Fn", b"1") for _ in range(3)))
    (function.code / "app.py").write_text(ECHO)

    assert {(answer.error, error_of(answer)) for answer in answers} == {("Unhandled", kind)}
    assert await answer_of(pool, 5) == 5


async def test_a_slow_start_is_tried_once_more_within_the_functions_own_time(stage: Stage) -> None:
    source = """
        import os, time
        while not os.path.exists(os.environ["READY"]):
            time.sleep(0.02)
        def handler(event, context):
            return event
    """
    ready = stage.folder / "ready"
    pool = await stage.run(stage.function(source, environment={"READY": str(ready)}, timeout=60.0), init_timeout=0.5)

    answer = asyncio.create_task(answer_of(pool, 7))
    await until(lambda: "Status: timeout" in stage.log())
    ready.touch()

    assert await answer == 7


async def test_a_start_that_never_ends_is_a_timeout_for_the_event(stage: Stage) -> None:
    source = "import time\ntime.sleep(60)\ndef handler(event, context): ...\n"
    pool = await stage.run(stage.function(source, timeout=0.3), init_timeout=0.2)

    answer = await pool.invoke("Fn", b"1")

    assert (answer.error, error_of(answer)) == ("TimedOut", "Sandbox.Timedout")


async def test_a_function_over_its_memory_is_killed(stage: Stage) -> None:
    source = "import time\ndef handler(event, context):\n    kept = b'x' * event\n    time.sleep(30)\n"
    pool = await stage.run(stage.function(source, timeout=30.0, memory=128))

    answer = await pool.invoke("Fn", b"%d" % (200 * 1024 * 1024))

    assert error_of(answer) == "Runtime.ExitError"
    assert "Runtime.OutOfMemory" in stage.log()
