"""All shapes of load, for ``make load SHAPE=name``. Sizes are those of published tests of systems of this kind."""

from __future__ import annotations

from dataclasses import replace

from loadtest.shapes.shape import Limit, Load, Phase, Shape

PEOPLE, ROOMS = 100_000, 20
"""Senders and rooms of the published chat tests."""
JOINS = LEAVES = 0.05
COLD_SECONDS = 15.0
"""How long all functions take to start at most, on two cores that also send."""


def _published(name: str, *loads: Load, seconds: float = 0.0) -> Phase:
    """A phase with the rooms, senders and kinds of messages of the published tests."""
    return Phase(name, loads, seconds, rooms=ROOMS, people=PEOPLE, joins=JOINS, leaves=LEAVES)


def _at_rate(name: str, rate: float, seconds: float, users: int = 64, batch: int = 25) -> Phase:
    return _published(name, Load("WebSocketWriter", users, rate=rate, batch=batch), seconds=seconds)


def _cold_first(phase: Phase) -> tuple[Phase, Phase]:
    """``phase`` twice: in the first, which is short, the functions start cold, and the second is the one to judge."""
    return replace(phase, name=f"{phase.name}: cold start", seconds=COLD_SECONDS), phase


def _hot_room(name: str, shards: int) -> Phase:
    load = Load("WebSocketWriter", 64, rate=5_000, batch=25)
    return Phase(name, (load,), seconds=20, rooms=1, shards=shards)


def _rides(name: str, users: int, rides: int) -> Phase:
    return Phase(name, (Load("HttpWriter", users, events=rides),), stream="ski")


def _ride_questions(name: str, kind: str) -> Phase:
    return Phase(name, (Load(kind, 128, events=128 * 100),), stream="ski")


MIXED_RATE = 100.0
"""Requests per second of the shape mixed: 30% write, 70% read in the published shares."""


def _share(kind: str, users: int, share: float) -> Load:
    return Load(kind, users, rate=MIXED_RATE * share)


SHAPES = {
    shape.name: shape
    for shape in (
        Shape(
            "frames",
            "50,000 messages in frames of 25 and 10,000 in single frames, 64 connections",
            (
                Phase("frames of 25", (Load("WebSocketWriter", 64, events=50_000, batch=25),)),
                Phase("single frames", (Load("WebSocketWriter", 64, events=10_000),)),
            ),
        ),
        Shape(
            "aged",
            "5,000 messages in single frames on an empty stage, and again after 150,000 in frames of 25",
            (
                Phase("single frames, empty", (Load("WebSocketWriter", 64, events=5_000),)),
                Phase("frames of 25", (Load("WebSocketWriter", 64, events=150_000, batch=25),)),
                Phase("single frames, full", (Load("WebSocketWriter", 64, events=5_000),)),
            ),
        ),
        Shape(
            "baseline",
            "500,000 messages, 256 connections, 20 rooms, 100,000 senders, 90% TEXT, 5% JOIN, 5% LEAVE",
            (_published("baseline", Load("WebSocketWriter", 256, events=500_000, batch=25)),),
        ),
        Shape(
            "stress",
            "1,000,000 messages, otherwise as baseline",
            (_published("stress", Load("WebSocketWriter", 256, events=1_000_000, batch=25)),),
        ),
        Shape("endurance", "1,000 messages/s for 30 minutes", (_at_rate("endurance", 1_000, 1_800),)),
        Shape("singles", "300 single frames/s for 5 minutes", _cold_first(_at_rate("singles", 300, 300, batch=1))),
        Shape(
            "mixed",
            "100 requests/s for 10 minutes: 30% writes, 70% reads of histories, conversations and analytics",
            _cold_first(
                _published(
                    "mixed",
                    _share("WebSocketWriter", 16, 0.15),
                    _share("HttpWriter", 16, 0.15),
                    _share("RoomHistoryReader", 32, 0.7 * 0.59),
                    _share("UserHistoryReader", 16, 0.7 * 0.20),
                    _share("ConversationsReader", 8, 0.7 * 0.10),
                    _share("ActiveUsersReader", 8, 0.7 * 0.10),
                    _share("WindowReader", 4, 0.7 * 0.01),
                    seconds=600,
                )
            ),
        ),
        Shape(
            "spike",
            "200 messages/s, 30 seconds at 2,000/s, and 200/s again",
            (_at_rate("before", 200, 60), _at_rate("spike", 2_000, 30), _at_rate("after", 200, 120)),
        ),
        Shape(
            "hot-room",
            "5,000 messages/s in frames of 25 for 20 s into one room, then into one with 8 shards",
            (
                _hot_room("one partition", 0),
                _hot_room("8 shards", 8),
            ),
        ),
        Shape(
            "limit",
            "200 messages/s and more every 20 seconds, until it is too much; analytics are not checked",
            (_at_rate("200/s", 200, 20, users=128),),
            Limit(factor=1.3, steps=20, ack_p99=1.0),
        ),
        Shape(
            "ski",
            "600,000 rides, one per POST: 200,000 each of 32 then 168, 128 and 256 clients; questions of 128",
            (
                _rides("32 clients", 32, 32_000),
                _rides("168 clients", 168, 168_000),
                _rides("128 clients", 128, 200_000),
                _rides("256 clients", 256, 200_000),
                _ride_questions("skiers of a day", "SkiersOfDayReader"),
                _ride_questions("vertical of a day", "DayVerticalReader"),
                _ride_questions("vertical of a season", "SeasonVerticalReader"),
                _ride_questions("questions about rides", "RidesReader"),
            ),
        ),
        Shape(
            "backlog",
            "16,000 rides, one per POST, 8,000 each of 128 and 256 clients; for a stage that stores slowly",
            (_rides("128 clients", 128, 8_000), _rides("256 clients", 256, 8_000)),
        ),
        Shape(
            "ads",
            "1,000 single clicks/s for 10 minutes, then batches as fast as they are accepted, and questions",
            (
                Phase("single clicks", (Load("HttpWriter", 128, rate=1_000),), 600, stream="ads"),
                Phase("batches of 100", (Load("HttpWriter", 64, batch=100),), 60, stream="ads"),
                Phase("questions", (Load("ClickReader", 16, events=1_600),), stream="ads"),
            ),
        ),
        Shape(
            "rides",
            "20,000 rides in batches of 50, and all questions; one POST in twenty comes again",
            (Phase("rides", (Load("HttpWriter", 32, 20_000, batch=50),), stream="ski", repeated=0.05, paced=True),),
        ),
        Shape(
            "clicks",
            "1,000 clicks/s in batches of 10 for a minute, then 1,200/s; one POST in twenty comes again",
            (
                Phase("1,000/s", (Load("HttpWriter", 32, rate=1_000, batch=10),), 60, stream="ads", repeated=0.05),
                Phase("1,200/s", (Load("HttpWriter", 32, rate=1_200, batch=10),), 10, stream="ads", repeated=0.05),
            ),
        ),
    )
}
"""Each shape by its name."""
OF_STREAM = {"chat": "frames", "ski": "rides", "ads": "clicks"}


def of_stream(name: str) -> Shape:
    """The shape for a stream that is named; a declared one has none of its own."""
    if name in OF_STREAM:
        return SHAPES[OF_STREAM[name]]
    load = Load("HttpWriter", 32, 20_000, batch=50)
    description = "20,000 events in batches of 50, and all questions; one POST in ten comes again"
    return Shape(name, description, (Phase("events", (load,), stream=name, repeated=0.1, paced=True),))
