"""Messages of a client are acknowledged, stored and read back over both protocols."""

from __future__ import annotations

from tests.e2e.clients import Client, message, unique
from tests.e2e.conftest import RunningStage


def test_a_frame_is_acknowledged_and_its_message_is_read_back_unchanged(platform: RunningStage) -> None:
    alice, room = Client(platform), unique("room")
    sent = message(room, 'grüße, 世界 \u0007\u202e 👩‍👩‍👧 <b>\\n"')

    ack = alice.connect().request({"action": "sendMessage", "requestId": "r1", **sent})

    assert ack.pop("correlationId")
    assert ack == {
        "type": "ack",
        "requestId": "r1",
        "roomId": room,
        "messageId": sent["messageId"],
        "timestamp": sent["timestamp"],
        "lane": "main",
    }
    (item,) = alice.wait_for(room, 1)
    assert item["message"] == sent["message"]
    assert (item["userId"], item["messageId"], item["timestamp"]) == (alice.user, sent["messageId"], sent["timestamp"])
