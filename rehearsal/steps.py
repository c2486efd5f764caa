"""What is rehearsed, in order. A step that does not end as expected raises; events are all tried first."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
import tomllib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any

from localstage.core.locks import try_lock
from localstage.functions import build as build_runtime
from localstage.gateway.issuer import Issuer
from localstage.services.guardian import Guardian
from localstage.services.ports import Ports
from rehearsal import report
from rehearsal.cloud import ROOT, Account, Cloud, Resource, ensure_cloud
from rehearsal.errors import RehearsalError
from rehearsal.events import Case, cases, dead_letters, parked, uploads
from rehearsal.machines import Machines
from rehearsal.mappings import reading
from rehearsal.report import unproven
from rehearsal.sam import Sam, interpreter

STATE = ROOT / ".local" / "rehearsal"
_RUNTIME_REQUIREMENTS = ROOT / "requirements" / "runtime.txt"
OWNED = tomllib.loads(Path(__file__).with_name("owned.toml").read_text(encoding="utf-8"))
WITHOUT_BROKER = "headrace-staging"
TOLD = "rehearsal-told"
"""The queue that prod tells what it stores."""
TOLD_SECONDS = 60

# A statement that track_connections needs, and one that looks like it.
RIGHT = "              Action: dynamodb:PutItem\n              Resource: !GetAtt ConnectionsTable.Arn\n"
WRONG = "              Action: dynamodb:PutItem\n              Resource: !GetAtt RoomsTable.Arn\n"
# An action in the policy of DynamoDB's endpoint that manage_rooms needs, and another.
ENDPOINT_RIGHT = "              - dynamodb:UpdateItem\n"
ENDPOINT_WRONG = "              - dynamodb:UpdateTable\n"

_AGAIN_SECONDS = 6
"""More than the time that functions remember a failed health check, and an unavailable cache."""

Say = Callable[[str], None]


class Rehearsal:
    """An emulated account and the commands that deploy to it."""

    def __init__(self, sam: Sam, account: Account, machines: Machines, issuer: Issuer, say: Say) -> None:
        self.sam = sam
        self.account = account
        self._machines = machines
        self._issuer = issuer
        self._say = say
        self._resources: dict[str, list[Resource]] = {}
        self._unused: list[str] = []

    @contextmanager
    def _timed(self, text: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self._say(f"{time.monotonic() - began:5.1f} s  {text}")

    async def build(self) -> None:
        """Build the functions and layers."""
        with self._timed("sam build"):
            await self.sam.build()

    async def deploy(self, stage: str, **parameters: str) -> None:
        """Deploy a stage; every resource must be created."""
        stack = f"headrace-{stage}"
        shown = " ".join(f"{name}={value}" for name, value in parameters.items())
        with self._timed(f"sam deploy --config-env {stage} {shown}".rstrip()):
            try:
                await self.sam.deploy(stage, **parameters)
            except RehearsalError as error:
                reasons = await asyncio.to_thread(self.account.failures, stack)
                raise RehearsalError("\n  ".join([str(error), *reasons])) from None
        status = await asyncio.to_thread(self.account.status, stack)
        if status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            raise RehearsalError(f"{stack}: expected CREATE_COMPLETE or UPDATE_COMPLETE, the stack is {status}")
        self._resources[stack] = await asyncio.to_thread(self.account.resources, stack)

    def reading(self, stage: str) -> AbstractAsyncContextManager[None]:
        """Meanwhile, the event source mappings of a stage read the queues of its broker."""
        return reading(self.account, self._machines, f"headrace-{stage}")

    async def send_events(self, stage: str, *names: str, record: bool = False) -> None:
        """Invoke functions with their events, under their own roles, and compare the answers.

        Raises:
            RehearsalError: an answer differs, a call was denied, or a right was not needed; names all of them.
        """
        wrong: list[str] = []
        wanted, stack = cases(*names), f"headrace-{stage}"
        prefix, token = await asyncio.to_thread(self._prefix_and_token, stack)
        if not names:
            await asyncio.to_thread(self.account.put_dead_letters, stack, *dead_letters())
            await asyncio.to_thread(self.account.put_files, stack, *uploads())
            await asyncio.to_thread(self._machines.park, f"{stack}-broker", *parked())
        with self._timed(f"{len(wanted)} events of events/ to {stage}"):
            for away, group in groupby(wanted, lambda case: case.away):
                async with self._machines.away(f"{stack}-{away}") if away else nullcontext():
                    for case in group:
                        wrong += await self._send(case, case.sent(prefix, token), stack, record=record)
        if not names:
            self._unused = await asyncio.to_thread(self.account.unused_rights, stack)
            wrong += [f"no event needs the right {one}: add one, or take it away" for one in unproven(self._unused)]
        if wrong:
            raise RehearsalError("\n  ".join(["answers differ from events/expected:", *wrong]))

    async def _send(self, case: Case, event: bytes, stack: str, *, record: bool) -> list[str]:
        """Invoke a function with an event; what is wrong with its answer, and which of its calls were denied."""
        before = len(self.account.denials(stack))
        function = await asyncio.to_thread(self.account.function, stack, case.function)
        answer = await asyncio.to_thread(self.account.invoke, function, event)
        if case.only_reads and case.differences(answer):
            # Health checks and caches give up within a second, which a busy machine may need.
            await asyncio.sleep(_AGAIN_SECONDS)
            answer = await asyncio.to_thread(self.account.invoke, function, event)
        if record:
            case.record(answer)
        wrong = [f"{case.name}: {text}" for text in case.differences(answer)]
        for denied in self.account.denials(stack)[before:]:
            wrong.append(f"{case.name}: IAM denied {denied['action']} on {denied['resource']} to {denied['who']}")
        return wrong

    def _prefix_and_token(self, stack: str) -> tuple[str, str]:
        """The prefix of a stack's scopes, and a token of its issuer for the user of the connection in the events."""
        prefix = self.account.parameter(stack, "ScopePrefix")
        audience = self.account.variable(self.account.function(stack, "RenewConnection"), "JWT_AUDIENCE")
        scopes = [f"{prefix}{scope}" for scope in ("chat:write", "chat:read")]
        return prefix, self._issuer.issue("alice", scopes, client_id=audience.split(",")[0])

    async def hear(self, *ids: str) -> None:
        """Wait until the queue was told of events with these ids, through the streams of the tables."""
        left, deadline = set(ids), time.monotonic() + TOLD_SECONDS
        while left and time.monotonic() < deadline:
            for event in await asyncio.to_thread(self.account.received, TOLD):
                left -= {each for each in left if f"#{each}#" in event["key"]}
        if left:
            raise RehearsalError(f"{TOLD} was not told of {', '.join(sorted(left))} within {TOLD_SECONDS} s")

    async def change_a_parameter(self) -> None:
        """Update dev with another level of logs; the version that the HTTP API calls must have it."""
        await self.deploy("dev", LogLevel="ERROR")
        function = await asyncio.to_thread(self.account.function, "headrace-dev", "ReadChat")
        level = await asyncio.to_thread(self.account.variable, function, "POWERTOOLS_LOG_LEVEL")
        if level != "ERROR":
            raise RehearsalError(f"ReadChat: POWERTOOLS_LOG_LEVEL is {level!r} after the update, expected 'ERROR'")

    async def notice_a_wrong_right(self) -> None:
        """Update dev with a wrong statement in a role and in the policy of an endpoint; their events must fail."""
        self.sam.edit(RIGHT, WRONG)
        self.sam.edit(ENDPOINT_RIGHT, ENDPOINT_WRONG)
        await self.sam.build()
        # With a parameter, since the emulator sees no change in another resource's name alone.
        await self.deploy("dev", LogLevel="WARN")
        try:
            await self.send_events("dev", "track_connections.open", "manage_rooms.block")
        except RehearsalError as error:
            if not all(f"IAM denied {action}" in str(error) for action in ("dynamodb:PutItem", "dynamodb:UpdateItem")):
                raise
            self._say("         wrong statements of a role and of an endpoint were noticed, as they must be")
        else:
            raise RehearsalError("functions answered as expected without their rights")

    async def roll_back_without_a_broker(self) -> None:
        """Deploy staging, whose broker does not answer; the stack must roll back and leave nothing."""
        with self._timed("sam deploy --config-env staging without a broker, and its rollback"):
            try:
                await self.sam.deploy("staging")
            except RehearsalError:
                pass
            else:
                raise RehearsalError(f"{WITHOUT_BROKER} was deployed, although its broker does not answer")
        status = await asyncio.to_thread(self.account.status, WITHOUT_BROKER)
        reasons = await asyncio.to_thread(self.account.failures, WITHOUT_BROKER)
        if status != "ROLLBACK_COMPLETE" or not reasons or not reasons[0].startswith("Topology: "):
            raise RehearsalError(f"{WITHOUT_BROKER}: expected Topology to fail and a rollback, got {status} {reasons}")
        await self.delete("staging")

    async def delete(self, stage: str) -> None:
        """Delete a stage as operators do; nothing of it may remain."""
        stack = f"headrace-{stage}"
        with self._timed(f"make destroy STACK={stack}"):
            await self.sam.destroy(stage)
        status = await asyncio.to_thread(self.account.status, stack)
        left = await asyncio.to_thread(self.account.left_over, stack)
        left += [name for name in self._machines.running if name.startswith(stack)]
        if status != "gone" or left:
            raise RehearsalError(f"{stack} is {status} after make destroy; left over: {', '.join(left) or 'nothing'}")

    def table(self) -> str:
        """The report on resource types, of all stages that were deployed."""
        return report.table([one for resources in self._resources.values() for one in resources])

    def unused_rights(self) -> str:
        """The rights that no event used, with the reasons."""
        return report.reasons(self._unused)


@asynccontextmanager
async def rehearsal(say: Say, state: Path = STATE) -> AsyncIterator[Rehearsal]:
    """Start an empty account, and stop everything afterwards.

    Raises:
        RehearsalError: another rehearsal runs in ``state``.
        StageError: a program is missing or a service did not start.
    """
    with _alone(state):
        python = interpreter()
        sam = Sam(state / "work", python)
        sam.copy_sources()
        if not sam.same_runtime:
            say(f"the functions run on {python.name}, since this machine has no python3.13 with pip")
        run = state / "run"
        shutil.rmtree(run, ignore_errors=True)
        run.mkdir()
        machines, guardian = Machines(run, down=frozenset({WITHOUT_BROKER})), Guardian(state / "guardian.lock")
        issuer = Issuer(run)
        try:
            await asyncio.gather(machines.start(), guardian.start(), issuer.start())
            built = await build_runtime([], state, runtime_requirements=_RUNTIME_REQUIREMENTS)
            environment = await ensure_cloud(state, python)
            folder = run / "cloud"
            folder.mkdir()
            cloud = Cloud(
                guardian,
                Ports(folder / "ports.json"),
                folder,
                environ={**os.environ, "TMPDIR": ""},
                python=environment,
                runtime=built.runtime.absolute(),
                machines_url=machines.url,
                issuer_url=issuer.url,
                issuer_key=run / "issuer.pem",
            )
            await cloud.start()
            sam.variables = cloud.variables
            sam.link("bin/aws", environment.with_name("aws"))
            yield Rehearsal(sam, Account(cloud), machines, issuer, say)
        finally:
            await asyncio.gather(machines.stop(), guardian.stop(), issuer.stop())
            # The functions' unpacked code; logs stay.
            for unpacked in (run / "cloud").glob("ministack-lambda-*"):
                shutil.rmtree(unpacked, ignore_errors=True)


@contextmanager
def _alone(state: Path) -> Iterator[None]:
    state.mkdir(parents=True, exist_ok=True)
    lock = try_lock(state / "lock")
    if lock is None:
        raise RehearsalError(f"another rehearsal runs in {state}")
    with lock:
        yield


async def rehearse_all(say: Say) -> None:
    """The whole rehearsal: dev with events, an update and a wrong right; staging without a broker; prod."""
    async with rehearsal(say) as stage:
        await stage.build()
        await stage.deploy("dev")
        # Beside all else, since the function that declares queues waits a minute for its broker.
        await _together(stage.roll_back_without_a_broker(), _dev_and_prod(stage))
        say(f"\nWhat was checked, by resource type:\n{stage.table()}")
        say(f"\nRights that no event used:\n{stage.unused_rights()}")


async def _dev_and_prod(stage: Rehearsal) -> None:
    await stage.send_events("dev")
    target = await asyncio.to_thread(stage.account.make_queue, TOLD)
    zone = await asyncio.to_thread(stage.account.make_zone, "example.com")
    of_prod = stage.deploy("prod", **OWNED, DomainZoneId=zone, TellTarget=target, Archive="on")
    await _together(stage.change_a_parameter(), of_prod)
    await _together(stage.notice_a_wrong_right(), stage.send_events("prod"))
    await stage.hear("msg-0002")
    await _together(stage.delete("dev"), stage.delete("prod"))


async def _together(*steps: Coroutine[Any, Any, None]) -> None:
    """Do all steps at once; after an error or Ctrl-C, none goes on."""
    tasks = [asyncio.create_task(step) for step in steps]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
