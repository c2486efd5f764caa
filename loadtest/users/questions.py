"""Locust users that ask: each sends one question for each arrival, without retries, and measures the answer."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from loadtest.client.chat_events import iso
from loadtest.runs.phase_run import PhaseRun
from loadtest.sending.arrivals import Arrival
from loadtest.sending.transports import NOT_ACCEPTED
from loadtest.ski.rides import SEASON
from loadtest.users.stage_user import TIMEOUT, StageUser
from localstage.client.errors import HttpError, TokenRefused
from localstage.client.http_api import HttpApi

FOLLOWED = 3
"""How many rooms a reader of conversations joins."""
WINDOW = timedelta(minutes=10)
START = 30.0
"""Seconds after the beginning of a phase in which a question about what is not stored yet is no failure."""


def _path(*parts: object, **query: str) -> str:
    path = "/".join(["", *(quote(str(each), safe="") for each in parts)])
    return f"{path}?{urlencode(query)}" if query else path


def _last_minutes() -> Mapping[str, str]:
    now = datetime.now(UTC)
    return {"from": iso(now - WINDOW), "to": iso(now)}


def _ride_question(work: Any, _user: str) -> str:
    ride = work.ride()
    skiers, day = ("skiers", "seasons", SEASON), ("resorts", ride.resort, "seasons", SEASON, "days", ride.day)
    return random.choice(
        [
            _path(*day, "hours"),
            _path(*day, "lifts", ride.lift),
            _path(*skiers, "days", ride.day, "skiers", ride.skier),
            _path(*skiers, "skiers", ride.skier),
        ]
    )


def _skiers_of_day(work: Any, _user: str) -> str:
    ride = work.ride()
    return _path("resorts", ride.resort, "seasons", SEASON, "day", ride.day, "skiers")


def _season_vertical(work: Any, _user: str) -> str:
    ride = work.ride()
    return _path("skiers", ride.skier, "vertical", resort=str(ride.resort))


def _click_question(work: Any, _user: str) -> str:
    ad, person = work.asked.ad(), work.asked.person()
    return random.choice(
        [
            _path("ads", ad, "stats", **_last_minutes()),
            _path("ads", ad, "clicks", limit="50"),
            _path("users", person, "clicks", limit="50"),
            _path("ads", "top", **_last_minutes(), top="10"),
        ]
    )


class Question(NamedTuple):
    """What users of a kind ask: the name in tables, the path for the work of the phase and the asking user."""

    name: str
    path: Callable[[Any, str], str]
    scope: str = "analytics:read"


QUESTIONS = {
    "RoomHistoryReader": Question(
        "room history", lambda work, _: _path("rooms", work.room(), "messages", limit="50"), "chat:read"
    ),
    "UserHistoryReader": Question(
        "user history", lambda work, _: _path("users", work.person(), "messages", limit="50"), "chat:read"
    ),
    "ConversationsReader": Question(
        "conversations", lambda _, user: _path("users", user, "rooms", limit="20"), "chat:read"
    ),
    "ActiveUsersReader": Question("active users", lambda *_: _path("analytics", "active-users", **_last_minutes())),
    "WindowReader": Question("window", lambda *_: _path("analytics", "window", **_last_minutes(), top="10")),
    "SkiersOfDayReader": Question("skiers of a day", _skiers_of_day),
    "DayVerticalReader": Question("vertical of a day", lambda work, _: work.ride().path()),
    "SeasonVerticalReader": Question("vertical of a season", _season_vertical),
    "RidesReader": Question("questions about rides", _ride_question),
    "ClickReader": Question("questions about ads", _click_question),
}
"""The questions by the kind of the users that ask them."""


class Asking(StageUser):
    """Asks the question of its kind."""

    def connect(self, run: PhaseRun) -> None:
        """Get a token."""
        self.question = QUESTIONS[self.kind]
        user = f"load-{self.kind}-{self.number}"
        self.user_id = self.target.user_id(user, self.question.scope)
        token = self.target.token_for(user, self.question.scope)
        url, answered = self.target.http_url, run.requests.add
        self._api = self.opened(HttpApi(url, token, timeout=TIMEOUT, connections=1, retry_timeout=0, answered=answered))

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Ask.

        Raises:
            TokenRefused: the stage does not accept the token any more.
        """
        began = time.perf_counter() if arrival.due is None else arrival.due
        failed: HttpError | None = None
        try:
            self._api.get_value(self.question.path(run.work, self.user_id))
        except HttpError as error:
            if error.status == 404 and time.monotonic() - run.started < START:
                run.measurements.count("not there yet")  # nothing that it asks for is stored so early
                return
            if error.is_unauthorized:
                raise TokenRefused(NOT_ACCEPTED) from None
            failed = error
            run.measurements.count(f"failed {error.code}")
        seconds = time.perf_counter() - began
        run.measurements.record(self.question.name, seconds)
        run.measurements.count("questions")
        self.report("HTTP", self.question.name, seconds, 1, failed)


class ConversationsReader(Asking):
    """Joins a few rooms when they exist, and lists its conversations."""

    def connect(self, run: PhaseRun) -> None:
        """Get a token for asking and one for joining."""
        super().connect(run)
        self._joining = self.opened(self.target.joiner(f"load-{self.kind}-{self.number}"))
        self._rooms: set[str] = set()

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Join a room before each of the first questions."""
        if len(self._rooms) < FOLLOWED:
            self.chat.joined.add(self.user_id)
            room = self.chat.room()
            try:
                self._joining.change("PUT", _path("rooms", room, "members", self.user_id), {})
                self._rooms.add(room)
            except HttpError as error:
                if error.status != 404:
                    raise
        super().act(run, arrival)
