"""The generated conversation is plausible, within the platform's limits, and the same for the same seed."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta

import pytest

from loadtest.chat.chat_generator import LONGEST, generate, run_end, run_name
from loadtest.chat.irc_log import identifier
from loadtest.client.chat_events import parse_iso

RUN = "20251121-100000"


def test_the_same_run_made_twice_is_the_same_events() -> None:
    assert generate(RUN, 500) == generate(RUN, 500)


def test_another_run_or_seed_shares_no_event_with_it() -> None:
    ids = {event.message_id for event in generate(RUN, 500).events}

    assert not ids & {event.message_id for event in generate("20251121-100001", 500).events}
    assert not ids & {event.message_id for event in generate(RUN, 500, seed=2).events}


@pytest.mark.parametrize("messages", [1, 2, 24, 2_000, 30_000])
def test_every_message_of_a_conversation_has_its_own_id_and_time(messages: int) -> None:
    events = generate(RUN, messages).events

    times = [event.timestamp for event in events]
    assert len(events) == messages
    assert times == sorted(set(times))
    assert len({event.message_id for event in events}) == messages


@pytest.mark.parametrize("messages", [10, 60_000])
def test_times_are_within_the_bounds_for_clients(messages: int) -> None:
    events = generate(RUN, messages).events

    assert parse_iso(events[-1].timestamp) <= run_end(RUN)
    assert parse_iso(events[0].timestamp) > run_end(RUN) - timedelta(hours=23)


def test_ids_are_version_7_and_carry_their_time() -> None:
    for event in generate(RUN, 50).events:
        hexadecimal = event.message_id.replace("-", "")
        moment = datetime.fromtimestamp(int(hexadecimal[:12], 16) / 1000, UTC)

        assert hexadecimal[12] == "7"
        assert hexadecimal[16] in "89ab"
        assert abs(parse_iso(event.timestamp) - moment) < timedelta(milliseconds=1)


def test_a_conversation_has_several_rooms_scripts_and_long_texts() -> None:
    talk = generate(RUN)

    texts = [event.message for event in talk.events]
    assert len({event.room_id for event in talk.events}) == len(talk.rooms) >= 4
    assert len({event.user_id for event in talk.events}) == len(talk.users) == 24
    assert len({unicodedata.name(user[0]).split()[0] for user in talk.users}) >= 8
    assert any("\x1b" in text for text in texts)
    assert any("👨‍👩‍👧‍👦" in text for text in texts)
    assert max(len(text) for text in texts) > 500


def test_the_longest_text_is_exactly_at_the_limit() -> None:
    assert max(len(event.message.encode()) for event in generate(RUN, 20_000).events) == LONGEST


def test_the_platform_accepts_all_generated_ids() -> None:
    talk = generate(RUN, 200)

    for name in (*talk.users, *talk.rooms):
        assert identifier(name) == name


def test_every_placeholder_of_a_text_is_replaced() -> None:
    for event in generate(RUN, 5_000).events:
        assert not any(gap in event.message for gap in ("{other}", "{thing}", "{thing2}", "{place}", "{time}"))


def test_no_user_answers_their_own_message() -> None:
    last: dict[str, str] = {}
    for event in generate(RUN, 2_000).events:
        assert last.get(event.room_id) != event.user_id
        last[event.room_id] = event.user_id


def test_a_run_is_named_after_its_end() -> None:
    assert run_end(run_name(datetime(2025, 11, 21, 10, 0, 58, tzinfo=UTC))) == datetime(
        2025, 11, 21, 10, 0, 58, tzinfo=UTC
    )
    with pytest.raises(ValueError):
        run_end("yesterday")
