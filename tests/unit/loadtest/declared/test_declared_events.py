"""Events that load tests make of a declared stream's model, and the answers that they expect."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from headrace.declare import Event, Field, Id, Refused, Secret, Stream, User
from headrace.features.declared.folder import declarations
from headrace.features.declared.stream import Events
from loadtest.declared.events import KEYS, Maker, Totals, declaration_of
from localstage.client.errors import ClientError
from tests.unit.template_stack import ROOT
from tests.worlds.senders import CLOCK, sender

EXAMPLES = str(ROOT / "examples" / "streams")


class Parcel(Event):
    """A parcel with a field of every type."""

    parcel_box: Id
    sent_by: User
    size: Literal["small", "large"] = "small"
    code: Secret
    weight: float = Field(gt=0, lt=30)
    price: int | None = Field(default=None, ge=0, multiple_of=5)
    name: str = Field(min_length=3, max_length=8)
    note: str | None = None
    next_box: Id | None = None
    insured: bool = False


def heavy(parcel: Parcel) -> None:
    if parcel.weight > 20:
        raise Refused("weight", "is too heavy", got=parcel.weight, allowed="up to 20")


PARCELS = Stream("parcels", Parcel, key="parcel_box", counts=("size", "note"), sums=("weight", "price"), check=heavy)
STREAMS = [*declarations(EXAMPLES), PARCELS]


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
def test_what_is_made_of_a_model_is_accepted_with_the_values_that_are_expected(stream: Stream) -> None:
    maker, events = Maker(stream, 7), Events(stream)
    made = [maker.make(CLOCK.now()) for _ in range(300)]
    accepted = [events.accept(each.sent, sender(trusted=True)).event for each in made]

    for each, event in zip(made, accepted, strict=True):
        user = {events.names["userId"]: event["userId"]} if stream.user else {}
        stamp = {"eventId": event["eventId"], "timestamp": event["timestamp"], **user}
        assert event["fields"] | event.get("secrets", {}) | stamp == each.item
    assert len({each.event_id for each in made}) == 300
    assert len(Totals(stream, made).by(stream.key)) == KEYS
    assert any(len(each.sent) < len(each.item) for each in made) or stream.name == "sensor-readings"


def test_a_check_that_refuses_all_that_is_made_is_named() -> None:
    def refuse(_: Parcel) -> None:
        raise Refused("weight", "is never right")

    with pytest.raises(ClientError, match="the check of parcels refuses 1000 events"):
        Maker(Stream("parcels", Parcel, key="parcel_box", check=refuse), 7).make(0)


def test_an_unknown_stream_names_the_known_ones_and_where_a_declaration_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSTAGE_STREAMS", EXAMPLES)

    with pytest.raises(ClientError) as error:
        declaration_of("roofs")

    assert f"{error.value}".startswith(
        f"STREAM: 'roofs' is no stream; allowed: chat, ski, ads, doors, sensor-readings; a file in {EXAMPLES} declares"
    )


def test_a_wrong_declaration_is_one_sentence(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSTAGE_STREAMS", str(tmp_path))
    (tmp_path / "roofs.py").write_text("STREAM = 1\n")

    with pytest.raises(ClientError, match=r"streams/roofs\.py:1: STREAM is 1; allowed"):
        declaration_of("roofs")
