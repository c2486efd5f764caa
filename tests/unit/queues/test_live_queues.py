"""Live copies of a room go through one broker."""

from __future__ import annotations

from headrace.queues.names import live_queue, live_queues
from headrace.queues.ports import Outgoing
from headrace.queues.rabbitmq.publisher import SpreadLivePublisher
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
