"""The emulators of the local stage survive malformed and interrupted requests."""

from __future__ import annotations

import socket
import struct
from urllib.parse import urlsplit

import boto3
import pytest

from tests.contract.emulators import Emulators, function_environment


def test_the_database_survives_a_client_that_ends_during_a_request(
    emulators: Emulators, monkeypatch: pytest.MonkeyPatch
) -> None:
    function_environment(monkeypatch, emulators.dynamodb_url)
    port = urlsplit(emulators.dynamodb_url).port or 0
    for _ in range(5):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{")
        # Close with a reset, as when a process is killed.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()

    assert boto3.client("dynamodb").list_tables()["TableNames"] is not None
