"""Displayed messages cannot control the terminal, and read from top to bottom."""

from __future__ import annotations

import io

from rich.console import Console

from loadtest.chat.display import history_page, summary
from loadtest.checker.checker import Checker
from loadtest.sending.progress import progress_bar
from localstage.client.terminal import visible


def plain() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=80, highlight=False), out


def item(minute: int, name: str, text: str, day: int = 21) -> dict[str, str]:
    return {"timestamp": f"2025-11-{day}T10:{minute:02d}:00.000000Z", "username": name, "message": text}


def test_the_newest_message_is_at_the_bottom_with_day_time_and_nick() -> None:
    console, out = plain()

    history_page(
        console, "mill-race", [item(2, "bo", "third"), item(1, "al", "second"), item(0, "bo", "first", day=20)]
    )

    text = out.getvalue()
    assert text.index("mill-race") < text.index("first") < text.index("second") < text.index("third")
    assert "November 2025" in text
    assert ":02" in text
    assert text.count("November") == 2


def test_a_text_cannot_contain_terminal_commands_or_markup() -> None:
    console, out = plain()

    history_page(
        console, "[bold]room[/]", [item(0, "[red]x", "\x1b[31mred\x1b[0m [link=x]y[/link] \u202ebidi\x07\x9b")]
    )

    text = out.getvalue()
    assert not set(text) & set("\x1b\x07\x9b\u202e")
    assert "␛[31mred␛[0m [link=x]y[/link]" in text
    assert "[red]x" in text
    assert "[bold]room[/]" in text


def test_characters_of_any_script_stay_as_they_are() -> None:
    assert visible("नमस्ते 👨‍👩‍👧 e\u0301 שלום\nx") == "नमस्ते 👨‍👩‍👧 e\u0301 שלום\nx"


def test_a_very_long_text_is_shortened_with_its_length() -> None:
    console, out = plain()

    history_page(console, "room", [item(0, "a", "x" * 4096)])

    assert "4,096 characters" in out.getvalue().replace("\n", " ")


def test_an_empty_page_is_shown_without_trouble() -> None:
    console, out = plain()

    history_page(console, "room", [])

    assert "room" in out.getvalue()


def test_progress_without_a_terminal_is_a_few_plain_lines() -> None:
    console, out = plain()

    with progress_bar(console, "sent", 1000) as advance:
        for _ in range(1000):
            advance(1)

    assert out.getvalue().splitlines() == [f"sent: {n} of 1,000" for n in ("250", "500", "750", "1,000")]


def test_the_summary_names_errors_by_code_and_faults_by_id() -> None:
    console, out = plain()
    checker = Checker()
    checker.begin_read()
    checker.read({"roomId": "room", "userId": "a", "messageId": "stray"})

    summary(console, {"rooms": "3"}, {"too_long": 2}, checker.verdict())

    text = out.getvalue()
    assert "rooms" in text
    assert "too_long" in text
    assert "room/stray" in text
