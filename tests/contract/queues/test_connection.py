"""The publisher's connection on one socket, without a broker."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pika import BasicProperties, ConnectionParameters, DeliveryMode
from pika.frame import Method, decode_frame
from pika.spec import Basic

from headrace.queues import rabbitmq
from headrace.queues.ports import Outgoing
from headrace.queues.rabbitmq.confirm_channel import ConfirmChannel
from headrace.queues.rabbitmq.connection import BlockingSocketConnection, open_socket
from headrace.queues.rabbitmq.publisher import RabbitPublisher
from tests.contract.rabbit import GUEST, outgoing, settings
from tests.fakes.secrets import MemorySecrets

NO_FAMILY = 12_345


def _nothing(*_: Any) -> None:
    pass


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[BlockingSocketConnection, socket.socket]]:
    """A connection, and the other end of its socket."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.settimeout(10)
    monkeypatch.setattr(rabbitmq.connection, "open_socket", lambda *_: ours)
    connection = BlockingSocketConnection(ConnectionParameters(), time.monotonic() + 1, _nothing, _nothing, _nothing)
    yield connection, theirs
    connection.let_go()
    theirs.close()


def test_an_address_of_an_unsupported_family_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        kinds = [(family, socket.SOCK_STREAM, 0, "", listener.getsockname()) for family in (NO_FAMILY, socket.AF_INET)]
        monkeypatch.setattr(rabbitmq.connection, "_resolve", lambda *_: kinds)

        open_socket(ConnectionParameters(), time.monotonic() + 10).close()

        monkeypatch.setattr(rabbitmq.connection, "_resolve", lambda *_: kinds[:1])
        with pytest.raises(OSError, match="not supported"):
            open_socket(ConnectionParameters(), time.monotonic() + 10)


def test_heartbeats_are_sent_whenever_a_connection_is_checked(
    ends: tuple[BlockingSocketConnection, socket.socket],
) -> None:
    """A blocked connection publishes nothing, but must send its heartbeats."""
    connection, theirs = ends
    link = ConfirmChannel(ConnectionParameters())
    link._connection = connection
    connection._adapter_call_later(0, lambda: connection._adapter_emit_data(b"a heartbeat"))

    assert link.notice()

    assert connection.unsent == 0
    assert theirs.recv(100).endswith(b"a heartbeat")


@pytest.mark.parametrize("body", [b"", b"{}", b"x" * 300_000], ids=["empty", "one frame", "many frames"])
@pytest.mark.parametrize("mandatory", [True, False])
def test_a_message_is_sent_in_the_bytes_of_pikas_encoder(
    ends: tuple[BlockingSocketConnection, socket.socket], body: bytes, mandatory: bool
) -> None:
    connection, mode = ends[0], DeliveryMode.Persistent if mandatory else DeliveryMode.Transient
    link, sent = ConfirmChannel(ConnectionParameters()), list[bytes]()
    link._connection, link._channel = connection, SimpleNamespace(channel_number=1)
    method = Basic.Publish(exchange="headrace.persist", routing_key="persist.chat.0", mandatory=mandatory)
    properties = BasicProperties("application/json", delivery_mode=mode.value, correlation_id="grüße", message_id="1")

    connection._body_max_length = connection._get_body_frame_max_length()  # type: ignore[attr-defined] # as tuned
    connection._out.clear()
    link._send(Outgoing(method.routing_key, body, "grüße"), method.exchange, mandatory=mandatory, mode=mode)
    sent.append(bytes(connection._out))
    connection._out.clear()
    connection._send_message(1, method, (properties, body))  # type: ignore[attr-defined]
    sent.append(bytes(connection._out))

    assert sent[0] == sent[1]


@pytest.mark.parametrize("multiple", [True, False])
def test_a_confirm_that_comes_alone_is_read_as_pika_reads_it(
    ends: tuple[BlockingSocketConnection, socket.socket], multiple: bool
) -> None:
    connection, settled = ends[0], list[Basic.Ack]()
    connection._on_settled = settled.append
    frame = Method(1, Basic.Ack(2**40, multiple)).marshal()

    connection._process(frame)

    (ours,), (_, pikas) = settled, decode_frame(frame)
    assert vars(ours) == vars(pikas.method)


def test_a_cancelled_timer_never_fires(ends: tuple[BlockingSocketConnection, socket.socket]) -> None:
    """After a freeze all timers are due at once, and pika's check of heartbeats cancels the sending."""
    connection, _ = ends
    fired: list[str] = []
    connection._adapter_call_later(0, lambda: connection._adapter_remove_timeout(second))
    second = connection._adapter_call_later(0, lambda: fired.append("second"))

    connection.receive(time.monotonic())

    assert fired == []


def test_a_connection_in_which_pika_fails_is_not_used_again() -> None:
    class Broken(ConfirmChannel):
        dropped = False

        def notice(self) -> bool:
            raise AssertionError("pika is in a state that it does not know")

        def drop(self) -> None:
            self.dropped = True

    publisher = RabbitPublisher(settings("amqp://127.0.0.1:1"), MemorySecrets({"arn": GUEST}))
    broken = publisher._keeper.channel = Broken(ConnectionParameters())

    with pytest.raises(AssertionError):
        publisher.publish([outgoing()])

    assert (broken.dropped, publisher._keeper.channel) == (True, None)
