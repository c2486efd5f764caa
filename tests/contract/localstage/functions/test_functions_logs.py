"""The content and the rotation of a function's log file."""

from __future__ import annotations

import re

from localstage.functions.logs import FunctionLog
from tests.contract.localstage.functions.functions_harness import ECHO, Stage, answer_of


async def test_the_log_has_lambdas_lines_around_what_the_function_printed(stage: Stage) -> None:
    source = """
        import sys
        def handler(event, context):
            print("out čau")
            print("err", file=sys.stderr)
    """
    pool = await stage.run(stage.function(source, memory=200))

    await answer_of(pool)
    await answer_of(pool)

    id = r"RequestId: [0-9a-f-]{36}"
    event = rf"START {id} Version: \$LATEST\nout čau\nerr\nEND {id}\n"
    report = (
        rf"REPORT {id}\tDuration: [\d.]+ ms\tBilled Duration: \d+ ms\tMemory Size: 200 MB\tMax Memory Used: [1-9]\d* MB"
    )
    assert re.fullmatch(
        rf"INIT_START [^\n]+\n{event}{report}\tInit Duration: [\d.]+ ms\n{event}{report}\n", stage.log()
    ), stage.log()


async def test_events_succeed_while_a_full_disk_drops_log_lines(stage: Stage) -> None:
    pool = await stage.run(stage.function("def handler(event, context):\n    return event\n"))
    (stage.folder / "state" / "logs" / "Fn.log").symlink_to("/dev/full")

    assert await answer_of(pool, 1) == 1
    assert await answer_of(pool, 2) == 2


def test_a_log_is_rotated_at_its_size_while_functions_write(stage: Stage) -> None:
    path = stage.folder / "Fn.log"
    log = FunctionLog(path, max_bytes=10)

    log.write("0123456789\n")
    log.rotate()
    log.write("new\n")
    log.rotate()
    log.close()

    assert path.read_text() == "new\n"
    assert path.with_name("Fn.log.1").read_text() == "0123456789\n"


async def test_the_log_of_an_earlier_run_is_kept(stage: Stage) -> None:
    function = stage.function(ECHO)
    for _ in range(2):
        pool = await stage.run(function)
        await answer_of(pool, 1)
        await pool.stop()

    assert stage.log().count("START RequestId") == 2
