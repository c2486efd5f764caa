"""Replays a conversation or IRC logs into a running stage, reads everything back and compares."""

from __future__ import annotations

import argparse
import glob
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from headrace_client.cli.show import show_rows, visible
from loadtest.chat import chat_generator, display
from loadtest.chat.irc_import import import_channels
from loadtest.chat.irc_log import read_logs
from loadtest.chat.irc_verification import CHANGES, EXAMPLES, Choice, Verification, choose
from loadtest.chat.replay_plan import Plan, plan_conversation, plan_logs
from loadtest.chat.replay_sender import send
from loadtest.checker.checker import Checker
from loadtest.checker.durability_probe import DurabilityProbe, in_history
from loadtest.checker.readback import drain_and_read
from loadtest.checker.verdict import Latency, Verdict
from loadtest.client.chat_events import ChatEvent
from loadtest.client.command import RETRY_TIMEOUT, count, positive
from loadtest.client.target import Target
from loadtest.measured.histogram import Histogram
from loadtest.sending.delivery import ProgressLines
from localstage.client.errors import ClientError
from localstage.client.http_api import HttpApi

PAGE = 24


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that choose what is replayed."""
    parser.add_argument("--messages", type=count, help="how many messages (default 2,000; of logs: all)")
    parser.add_argument("--log", metavar="GLOB", help="IRC logs to replay instead of the generated conversation")
    parser.add_argument("--nicks", type=_nicks, help="read back as so many nicks of the logs, or all")
    parser.add_argument("--retry-timeout", type=positive, default=RETRY_TIMEOUT, help="seconds until senders give up")


def make_plan(arguments: argparse.Namespace, *, one_token: bool) -> Plan:
    """The plan for ``arguments``. With ``one_token`` all users have the token of a trusted producer.

    Raises:
        ClientError: there is no such log, or none with a message.
    """
    if not arguments.log:
        if arguments.nicks:
            raise ClientError("--nicks (NICKS=) is for IRC logs; give --log (LOG=) too")
        talk = chat_generator.generate(arguments.messages or chat_generator.MESSAGES)
        return plan_conversation(talk, one_token=one_token)
    paths = [Path(name) for name in glob.glob(arguments.log)]  # noqa: PTH207 - Path.glob takes no absolute pattern
    if not paths:
        raise ClientError(f"LOG: no file matches {arguments.log}")
    logs = read_logs(paths)
    if not any(log.messages for log in logs):
        raise ClientError(f"no message in {arguments.log}; a message is a line such as: [12:18] <nick> text")
    return plan_logs(logs, arguments.messages)


def replay(plan: Plan, stage: Target, console: Console, retry_timeout: float, nicks: str = "") -> tuple[int, str]:
    """Import, send, read back, and print all but the last lines: those about memberships, if any, and of the checker.

    Returns the exit code, which is 0 only if everything was accepted and stored, and these lines.

    ``retry_timeout`` is that of :func:`send`. ``nicks``: how many nicks of IRC logs read back; see :func:`choose`.

    Raises:
        ClientError: no token, or the history cannot be read.
    """
    reader = stage.reader()
    acks, durable, lock = Histogram(), Histogram(), threading.Lock()
    probe = DurabilityProbe(in_history(reader), durable.record)

    warming, warm = DurabilityProbe(in_history(reader), lambda *_: None), not plan.warm_up

    def measure(events: Sequence[ChatEvent], first_sent: float) -> None:
        if not warm:
            warming.offer(events, first_sent)
            return
        with lock:
            acks.record(time.perf_counter() - first_sent, len(events))
        probe.offer(events, first_sent)

    # Verification compares joins and leaves.
    checker = Checker(measure, lambda item: item.get("messageType") in CHANGES)
    ProgressLines(lambda sentence: console.print(sentence, markup=False, style="dim", soft_wrap=True))
    console.print(f"replaying {plan.title}: {plan.messages:,} messages of {plan.users:,} users")
    choice = choose(plan.channels, nicks)
    if plan.channels:
        with display.progress_bar(
            console, "joins, leaves", sum(len(each.changes) for each in plan.channels)
        ) as advance:
            import_channels(plan.channels, stage, advance)
    for event in plan.permitted:
        checker.permit(event)
    problems: list[str] = []
    if plan.warm_up:
        with display.progress_bar(console, "warm-up", sum(len(each.events) for each in plan.warm_up)) as advance:
            _, problems = send(plan.warm_up, plan.connections, stage, checker, advance, retry_timeout)
        warming.finish()  # until the functions that store have started
        warm = True
    with display.progress_bar(console, "sent", sum(len(each.events) for each in plan.streams)) as advance:
        seconds, more = send(plan.streams, plan.connections, stage, checker, advance, retry_timeout)
    problems += more
    probe.finish()
    with display.progress_bar(console, "read back", plan.messages) as advance:
        drain_and_read(checker, reader, progress=advance)
    verdict = checker.verdict()
    display.summary(console, _rows(plan, checker, verdict, seconds), checker.errors, verdict)
    for problem in problems[:5]:
        console.print(problem, markup=False, style="red", soft_wrap=True)
    _show_page(plan, reader, console)
    reader.close()
    memberships, is_right = read_as_nicks(plan, choice, stage, console) if plan.channels else ("", True)
    lines = [*filter(None, [memberships]), verdict.line(Latency.of(acks), Latency.of(durable))]
    return (0 if verdict.whole and is_right and not problems else 1), "\n".join(lines)


def read_as_nicks(plan: Plan, choice: Choice, stage: Target, console: Console) -> tuple[str, bool]:
    """Read every room as its nicks; return the line to print, and whether everything was right."""
    rooms = f"{len(plan.channels):,} room{'' if len(plan.channels) == 1 else 's'}"
    if not stage.issues:
        return f"memberships: {choice.of:,} nicks in {rooms} imported; not read as these nicks: no tokens", True
    console.print(f"\nreading as {choice.describe()} in {rooms}: {choice.requests:,} pages")
    sent = frozenset(event.message_id for stream in plan.streams for event in stream.events)
    verification = Verification(stage, sent)
    with display.progress_bar(console, "as nicks", len(choice.nicks)) as advance:
        verification.run(choice.nicks, advance)
    wrong = verification.wrong
    for problem in wrong[:EXAMPLES]:
        console.print(problem, markup=False, style="red", soft_wrap=True)
    who, did = (f"{len(wrong):,} of {choice.describe()}", "did NOT read") if wrong else (choice.describe(), "read")
    return f"memberships: {who} in {rooms} {did} exactly the messages of their memberships", not wrong


def _rows(plan: Plan, checker: Checker, verdict: Verdict, seconds: float) -> dict[str, str]:
    sent = sum(len(stream.events) for stream in plan.streams)
    rate = sent / seconds if seconds else 0.0
    rows = {
        "rooms": f"{len(checker.rooms()):,}",
        "users": f"{plan.users:,}",
        "messages": f"{plan.messages:,}",
        "warm-up": f"{plan.messages - sent:,} messages, while functions start; latencies are those of the rest",
        "sent in": f"{seconds:.1f} s ({rate:,.0f} messages/s over {plan.connections} connections)",
        "lanes": ", ".join(f"{lane} {count:,}" for lane, count in sorted(checker.lanes.items())) or "none",
    }
    if not plan.warm_up:
        del rows["warm-up"]
    if plan.notes:
        rows["lines read"] = "; ".join(plan.notes)
    if verdict.unanswered:
        rows["unanswered"] = f"{verdict.unanswered:,}"
    return rows


def _show_page(plan: Plan, reader: HttpApi, console: Console) -> None:
    """The newest page of the busiest room, as ``headrace history`` prints it."""
    said = Counter(event.room_id for stream in plan.streams for event in stream.events)
    for room, _ in said.most_common(1):
        console.print(f"\n{visible(room)}", markup=False, style="bold")
        show_rows(reader.room_page(room, limit=PAGE)["items"][::-1], ("timestamp", "username", "message"))


def _nicks(text: str) -> str:
    if text != "all" and not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is neither all nor a number from 1")
    return text
