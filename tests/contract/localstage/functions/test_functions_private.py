"""Only the process of an environment gets its events."""

from __future__ import annotations

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
