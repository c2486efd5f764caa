"""The stage's services get free ports, and the same ports at the next start."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from localstage.core.errors import PortTaken
from localstage.services.ports import Ports


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        yield listening


def test_a_service_has_the_same_port_at_the_next_start(tmp_path: Path) -> None:
    first = Ports(tmp_path / "ports.json").take("redis")

    assert Ports(tmp_path / "ports.json").take("redis") == first


def test_a_remembered_port_that_is_in_use_is_replaced_by_a_free_one(tmp_path: Path, listener: socket.socket) -> None:
    taken = listener.getsockname()[1]
    (tmp_path / "ports.json").write_text(f'{{"redis": {taken}}}')

    assert Ports(tmp_path / "ports.json").take("redis") != taken


def test_a_requested_port_in_use_is_refused_in_one_sentence(tmp_path: Path, listener: socket.socket) -> None:
    taken = listener.getsockname()[1]

    with pytest.raises(PortTaken) as refusal:
        Ports(tmp_path / "ports.json").take("the HTTP API", wanted=taken)

    assert str(taken) in str(refusal.value)
    assert "the HTTP API" in str(refusal.value)


def test_two_services_never_get_the_same_port(tmp_path: Path) -> None:
    ports = Ports(tmp_path / "ports.json")

    assert len({ports.take(f"service {number}") for number in range(50)}) == 50


def test_a_damaged_list_of_ports_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "ports.json").write_text("{not json")

    assert Ports(tmp_path / "ports.json").take("redis") > 0
