"""The template is deployed to an emulated account as to AWS, and every function answers under its own role."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from rehearsal import steps
from rehearsal.cloud import ROOT

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
async def rehearsal() -> AsyncIterator[steps.Rehearsal]:
    """An empty account, with the template built."""
    async with steps.rehearsal(print, ROOT / ".local" / "rehearsal") as stage:
        await stage.build()
        yield stage


async def test_dev_deploys_answers_every_event_and_is_deleted(rehearsal: steps.Rehearsal) -> None:
    """One test, because a deployment takes long. A wrong statement in the template must not go unnoticed."""
    await rehearsal.deploy("dev")
    await rehearsal.send_events("dev")

    await rehearsal.notice_a_wrong_right()

    await rehearsal.delete("dev")
