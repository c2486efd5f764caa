"""The content and the rotation of a function's log file."""

from __future__ import annotations

import re

from tests.contract.localstage.functions.functions_harness import Stage, answer_of


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
