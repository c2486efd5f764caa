"""A replay plan assigns messages to tokens."""

from __future__ import annotations

from loadtest.chat.chat_generator import generate
from loadtest.chat.replay_plan import plan_conversation


def test_with_one_token_for_all_users_every_message_names_its_user() -> None:
    """A trusted producer's token names no user, so a deployed stage would store all messages under its subject."""
    talk = generate("20251121-100000", 50)

    named = [event for stream in plan_conversation(talk, one_token=True).streams for event in stream.events]

    assert {event.username for event in named} == {event.user_id for event in talk.events}
    assert all(event.username == event.user_id for event in named)
    assert {event.username for stream in plan_conversation(talk).streams for event in stream.events} == {None}
