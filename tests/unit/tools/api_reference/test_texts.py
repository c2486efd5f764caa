"""The numbers in the texts of the reference are those of the code."""

from __future__ import annotations

from typing import get_args

import pytest

from headrace.api.claims import SUBPROTOCOL
from headrace.api.paging.newest_page_cache import AGE_SECONDS, ROWS
from headrace.api.paging.request import PAGE_BYTES
from headrace.api.rates.rate_limiter import PERCENT, TYPING, Kind
from headrace.api.rates.sliding_window import SLOT_SECONDS
from headrace.api.responses import FRAME_BYTES
from headrace.core import times
from headrace.core.times import AGE_LIMIT, AHEAD_LIMIT
from headrace.features.ads.routes import POINTS_LIMIT, TYPES_LIMIT
from headrace.features.analytics.counter import EXACT_IDS
from headrace.features.analytics.requests import LONGEST, SHORTEST
from headrace.features.ski.resort_days import STALENESS
from headrace.features.ski.stream import VERTICAL_PER_LIFT
from headrace.health import health, status
from headrace.live import frames
from headrace.live.connections import CONNECTION_SECONDS
from headrace.live.hints import MARK_SECONDS
from headrace.live.push_service import LONGEST_REST
from headrace.live.shares import CONNECTIONS_PER_ROOM, CONNECTIONS_PER_USER
from headrace.streams.chat.messages.positions import OVERLAP
from tests.unit.template_stack import TemplateStack
from tools.api_reference.texts import text

MEGABYTE, KILOBYTE = 1024 * 1024, 1024


@pytest.mark.parametrize(
    ("section", "phrase"),
    [
        (
            "chat",
            f"at most {AHEAD_LIMIT // times.MINUTE} minutes ahead and at most {AGE_LIMIT // times.HOUR} hours old",
        ),
        ("chat", f"a page holds at most {PAGE_BYTES // MEGABYTE} MB"),
        ("chat", f"`limit` up to {ROWS}) can be {AGE_SECONDS:g} seconds old"),
        ("chat", f"more than {OVERLAP // times.SECOND} seconds before the position come last"),
        ("chat", f"until then, for up to {AHEAD_LIMIT // times.MINUTE} minutes"),
        ("analytics", f"has {SHORTEST // times.SECOND} second to {LONGEST // times.DAY} days"),
        ("analytics", f"up to {EXACT_IDS:,} users"),
        ("ski", f"vertical is {VERTICAL_PER_LIFT} times"),
        ("ski", f"stored {STALENESS // 1000} seconds ago"),
        ("ads", f"at most {POINTS_LIMIT:,} points"),
        ("ads", f"at most {TYPES_LIMIT} types"),
        ("operations", f"`GET /health` can be {health.KEPT_SECONDS:g} seconds old"),
        ("operations", f"`GET /status` can be {status.KEPT_SECONDS:g} seconds old"),
        ("connection", f"`{SUBPROTOCOL}` and an access token"),
        ("connection", f"all connections after {CONNECTION_SECONDS // 3600} hours"),
        ("connection", f"at most {FRAME_BYTES // KILOBYTE} KB"),
        ("messages", f"at most {frames.FRAME_BYTES // KILOBYTE} KB"),
        ("messages", f"can take up to {MARK_SECONDS:g} seconds"),
        ("messages", f"none for up to {LONGEST_REST:g} seconds"),
    ],
)
def test_a_number_in_a_text_is_that_of_the_code(section: str, phrase: str) -> None:
    assert phrase in " ".join(text(section).split())


def test_the_texts_name_the_default_limits_of_a_user(template_stack: TemplateStack) -> None:
    defaults = {name: int(template_stack.parameters[f"{name}Rate"]["Default"]) for name in ("Event", "Request")}
    rates = {"events": defaults["Event"]} | {kind: defaults["Request"] * each // 100 for kind, each in PERCENT.items()}
    assert {*rates, "typing"} == set(get_args(Kind))
    assert TYPING.most == 1
    assert TYPING.seconds < 3 <= TYPING.seconds + SLOT_SECONDS
    assert "`typing`, one passes in three seconds" in " ".join(text("limits").split())
    for kind, rate in rates.items():
        assert f"| `{kind}` | {rate} |" in text("limits")
    shares = f"have {CONNECTIONS_PER_USER} connections open, and follow one room over {CONNECTIONS_PER_ROOM} of them"
    assert shares in " ".join(text("limits").split())
