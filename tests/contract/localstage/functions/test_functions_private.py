"""Only the process of an environment gets its events."""

from __future__ import annotations

import os
from pathlib import Path

import aiohttp
import pytest

from tests.contract.localstage.functions.functions_harness import Stage, answer_of

WHERE = """
import os
def handler(event, context):
    return os.environ["AWS_LAMBDA_RUNTIME_API"], os.getpid()
"""


@pytest.mark.parametrize("key", ["", "/guessed"])
async def test_another_process_gets_no_event_and_disturbs_none(stage: Stage, key: str) -> None:
    pool = await stage.run(stage.function(WHERE))
    address, pid = await answer_of(pool)
    url = f"http://{address.partition('/')[0]}{key}/2018-06-01/runtime"

    async with aiohttp.ClientSession() as stranger:
        for method, path in (("GET", "invocation/next"), ("POST", "invocation/x/response"), ("POST", "init/error")):
            async with stranger.request(method, f"{url}/{path}", data=b"{}" if method == "POST" else None) as answer:
                assert answer.status == 403

    assert await answer_of(pool) == [address, pid]


async def test_other_users_cannot_read_the_key(stage: Stage) -> None:
    pool = await stage.run(stage.function(WHERE))
    address, pid = await answer_of(pool)
    key = address.partition("/")[2]
    process = Path(f"/proc/{pid}")

    assert len(key) > 20
    assert key.encode() in (process / "environ").read_bytes()
    assert (process / "environ").stat().st_mode & 0o077 == 0
    assert (process / "environ").stat().st_uid == os.getuid()
    assert key.encode() not in (process / "cmdline").read_bytes()
