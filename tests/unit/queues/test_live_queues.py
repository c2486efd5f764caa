"""Live copies of a room go through one broker."""

from __future__ import annotations

from typing import Any

from headrace.core.errors import ConnectionLost
from headrace.queues.names import live_queue, live_queues
from headrace.queues.ports import Outgoing
from headrace.queues.rabbitmq.publisher import RabbitLivePublisher, SpreadLivePublisher
from tests.fakes.queues import MemoryLivePublisher


def test_a_live_queue_is_published_to_one_broker_in_order() -> None:
    publishers = [MemoryLivePublisher(), MemoryLivePublisher()]
    messages = [Outgoing(live_queue(f"room-{number % 7}"), str(number).encode(), "c") for number in range(50)]

    assert SpreadLivePublisher(publishers).publish(messages) is None

    for number, publisher in enumerate(publishers):
        assert publisher.sent == [each for each in messages if each.routing_key == live_queues()[number]]


def test_a_queue_whose_broker_is_lost_fails_the_publish() -> None:
    publishers = [MemoryLivePublisher(), MemoryLivePublisher()]
    publishers[1].down = True
    messages = [Outgoing(queue, b"x", "c") for queue in live_queues()]

    assert SpreadLivePublisher(publishers).publish(messages) is not None
    assert [each.routing_key for each in publishers[0].sent] == ["live.0", "live.signals"]


class Brokers:
    """A keeper of channels, and the channel itself; casts to a ``lost`` broker fail."""

    def __init__(self, count: int) -> None:
        self.lost: set[int] = set()
        self.tried: list[int] = []
        self.has_others = count > 1
        self._count, self._number = count, 0

    def read_credentials(self) -> None:
        pass

    def ready(self, _deadline: float) -> Brokers:
        return self

    def cast(self, *_: Any) -> None:
        self.tried.append(self._number)
        if self._number in self.lost:
            raise ConnectionLost("it is lost")

    def go_on(self) -> None:
        self._number = (self._number + 1) % self._count


def test_after_a_failure_live_copies_go_to_the_other_broker_at_once() -> None:
    brokers: Any = Brokers(2)
    brokers.lost = {0}
    publisher = RabbitLivePublisher(brokers)

    outcomes = [publisher.publish([Outgoing("live.0", b"x", "c")]) for _ in range(3)]

    assert [each is None for each in outcomes] == [False, True, True]
    assert brokers.tried == [0, 1, 1]


def test_a_cooldown_follows_a_failure_of_each_broker_or_of_the_only_one() -> None:
    for count in (1, 2):
        brokers: Any = Brokers(count)
        brokers.lost = {0, 1}
        publisher = RabbitLivePublisher(brokers)

        assert all(publisher.publish([Outgoing("live.0", b"x", "c")]) for _ in range(5))
        assert brokers.tried == list(range(count))
