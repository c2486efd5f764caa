"""Replays a conversation or IRC logs into a running stage, reads everything back and gives the checker's verdict.

``python -m loadtest.chat.replay [--messages N] [--log GLOB] [--http-url URL --websocket-url URL [--token-url URL]]``

Without URLs it talks to the local stage of this folder. For any other target tokens come from ``--token-url``, or one
token with the scopes chat:read and events:write from the variable HEADRACE_TOKEN. Exits with 0 only if everything was
accepted, is stored once, whole and in order.
"""

from __future__ import annotations

import argparse
import glob
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from loadtest.chat import chat_generator as conversation
from loadtest.chat import display
from loadtest.chat import irc_import as membership
from loadtest.chat import irc_log as irc
from loadtest.chat.replay_plan import Plan, Sending, plan_conversation, plan_logs
from loadtest.checker.checker import Checker
from loadtest.checker.durability_probe import DurabilityProbe
from loadtest.checker.readback import drain_and_read
from loadtest.checker.verdict import Verdict
from loadtest.client.target import Target
from loadtest.sending.progress import progress_bar
from localstage.client.errors import ClientError
from localstage.client.http_api import HttpApi

PAGE = 24


@dataclass(frozen=True)
class Outcome:
    """A finished replay. ``troubles`` are sentences about connections that broke off for good.

    ``memberships`` is a line on what the nicks of logs can read, if that was looked at; ``rights_kept`` its verdict.
    """

    verdict: Verdict
    troubles: tuple[str, ...]
    memberships: str = ""
    rights_kept: bool = True

    @property
    def exit_code(self) -> int:
        """0 only if everything was accepted and kept."""
        return 0 if self.verdict.whole and self.rights_kept and not self.troubles else 1

    def lines(self) -> str:
        """The last words: on memberships, if there are any, and the checker's line."""
        return "\n".join(line for line in (self.memberships, self.verdict.line()) if line)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that say what is replayed; shared with ``loadtest.demo``."""
    parser.add_argument("--messages", type=_positive, help="how many messages (default 2,000; of logs: all)")
    parser.add_argument("--log", metavar="GLOB", help="IRC logs to replay instead of the generated conversation")
    parser.add_argument(
        "--run", metavar="NAME", help="repeat the generated conversation of that name (20251121-100000)"
    )


def make_plan(arguments: argparse.Namespace) -> Plan:
    """What the arguments ask for.

    Raises:
        loadtest.chat.irc_log.IrcLogError: no such log, or not a log.
    """
    if not arguments.log:
        run = arguments.run or conversation.run_name(datetime.now(UTC))
        try:
            return plan_conversation(conversation.converse(run, arguments.messages or conversation.MESSAGES))
        except ValueError:
            raise ClientError(f"{run} is not the name of a run; it looks like 20251121-100000") from None
    paths = [Path(name) for name in glob.glob(arguments.log)]  # noqa: PTH207 - Path.glob takes no absolute pattern
    if not paths:
        raise irc.IrcLogError(f"no log matches {arguments.log}")
    return plan_logs(irc.read_logs(paths), arguments.messages)


def replay(plan: Plan, stage: Target, console: Console) -> Outcome:
    """Send, drain, read back, and show everything but the checker's line, which is the caller's last word.

    Raises:
        ClientError: nobody can sign in, or the history cannot be read.
    """
    checker = Checker()
    reader = stage.reader()
    prober = DurabilityProbe(reader)
    console.print(f"replaying {plan.title}: {plan.messages:,} messages of {plan.users:,} users")
    choice = membership.choose(plan.channels)
    if plan.channels:
        with progress_bar(console, "joins, leaves", sum(len(each.changes) for each in plan.channels)) as advance:
            membership.import_channels(plan.channels, stage, advance)
    prober.start()
    with progress_bar(console, "sent", plan.messages) as advance:
        sending = Sending(plan, stage, checker, prober, advance)
        seconds = sending.run()
    durable = prober.finish()
    read_back(checker, reader, console, plan)
    verdict = checker.verdict(durable)
    display.summary(console, _rows(plan, checker, verdict, seconds), checker.errors, verdict)
    for trouble in sending.troubles[:5]:
        console.print(trouble, markup=False, style="red")
    _show_page(plan, reader, console)
    reader.close()
    if not plan.channels:
        return Outcome(verdict, tuple(sending.troubles))
    told, rights_kept = read_as_nicks(plan, choice, stage, console)
    return Outcome(verdict, tuple(sending.troubles), told, rights_kept)


def read_as_nicks(plan: Plan, choice: membership.Choice, stage: Target, console: Console) -> tuple[str, bool]:
    """Read every room as its nicks; the line that says what came of it, and whether all was right."""
    rooms = f"{len(plan.channels):,} room{'' if len(plan.channels) == 1 else 's'}"
    if not stage.token_url:
        return f"memberships: {choice.of:,} nicks in {rooms} imported; nobody read as them: no --token-url", True
    console.print(f"\nreading as {choice.told()} in {rooms}: {choice.requests:,} pages")
    sent = frozenset(event.message_id for stream in plan.streams for event in stream.events)
    verification = membership.Verification(stage, sent)
    with progress_bar(console, "as nicks", len(choice.nicks)) as advance:
        verification.run(choice.nicks, advance)
    wrong = verification.wrong
    for trouble in wrong[: membership.EXAMPLES]:
        console.print(trouble, markup=False, style="red", soft_wrap=True)
    who, did = (f"{len(wrong):,} of {choice.told()}", "did NOT read") if wrong else (choice.told(), "read")
    return f"memberships: {who} in {rooms} {did} exactly what was said while they were in", not wrong


def read_back(checker: Checker, reader: HttpApi, console: Console, plan: Plan) -> None:
    """Drain, then walk all rooms under a progress bar."""
    with progress_bar(console, "read back", plan.messages) as advance:
        read = 0

        def progress(now: int) -> None:
            nonlocal read
            if now > read:
                advance(now - read)
                read = now

        drain_and_read(checker, membership.WithoutStories(reader), progress=progress)


def _rows(plan: Plan, checker: Checker, verdict: Verdict, seconds: float) -> dict[str, str]:
    rate = verdict.accepted / seconds if seconds else 0.0
    rows = {
        "rooms": f"{len(checker.rooms()):,}",
        "users": f"{plan.users:,}",
        "messages": f"{plan.messages:,}",
        "sent in": f"{seconds:.1f} s ({rate:,.0f} messages/s over {plan.connections} connections)",
        "lanes": ", ".join(f"{lane} {count:,}" for lane, count in sorted(checker.lanes.items())) or "none",
    }
    if plan.notes:
        rows["lines read"] = "; ".join(plan.notes)
    if verdict.unanswered:
        rows["unanswered"] = f"{verdict.unanswered:,}"
    return rows


def _show_page(plan: Plan, reader: HttpApi, console: Console) -> None:
    """The newest page of the busiest room."""
    said = Counter(event.room_id for stream in plan.streams for event in stream.events)
    for room, _ in said.most_common(1):
        display.history_page(console, room, reader.room_page(room, limit=PAGE)["items"])


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.replay", description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("--http-url")
    parser.add_argument("--websocket-url")
    parser.add_argument("--token-url")
    parsed = parser.parse_args(arguments)
    console = Console(highlight=False)
    try:
        stage = Target.find(parsed.http_url, parsed.websocket_url, parsed.token_url)
        outcome = replay(make_plan(parsed), stage, console)
    except ClientError as error:
        print(f"headrace: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("headrace: interrupted", file=sys.stderr)
        return 130
    print(f"\n{outcome.lines()}")
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main())
