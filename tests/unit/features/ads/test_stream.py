"""Clicks: what is accepted, what is refused, and the stored row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.claims import caller_from_http
from headrace.core import keys
from headrace.core.errors import InvalidEvent, PoisonRecord
from headrace.core.sender import SenderContext
from headrace.core.times import DAY, iso, parse_iso
from headrace.features.ads.accepting import DERIVED_ID_LENGTH, TAKEN_BACK_CLICKS
from headrace.features.ads.addresses import AddressHasher
from headrace.features.ads.routes import item_of, start_key
from headrace.features.ads.stream import AD_INDEX, ADS, ONCE_DAYS
from headrace.runtime.breaker import COOLDOWN_SECONDS
from tests.fakes.secrets import MemorySecrets
from tests.worlds.ads_world import CLICKS, START, USER, AdsWorld, click
from tests.worlds.requests import http_event
from tests.worlds.stream_world import ADDRESS

NOW = parse_iso(START)
IDS = st.text(st.characters(exclude_characters="#", exclude_categories=("Cc", "Cs")), min_size=1, max_size=20)
SERVER = SenderContext("ad-server", "ad-server", True, NOW)
ANN = SenderContext("ann", "Ann", False, NOW, ADDRESS)


def test_a_users_client_sends_its_own_clicks_of_the_last_day() -> None:
    """P12."""
    own = {name: value for name, value in click().items() if name != "userId"}

    assert ADS.accept(own, ANN).event["u"] == "ann"
    for fields, field in (
        ({"userId": "bob"}, "userId"),
        ({"clickedAt": iso(NOW - DAY - 1)}, "clickedAt"),
        ({"address": "192.0.2.1"}, "address"),
    ):
        with pytest.raises(InvalidEvent) as caught:
            ADS.accept(own | fields, ANN)
        assert [detail.field for detail in caught.value.details] == [field]


OTHER_NAMES = {"userId": "uid", "clickedAt": "timestamp", "clickId": "messageId", "address": "ip"}


def test_a_click_with_the_names_of_other_pipelines_is_the_same_click() -> None:
    sent = click(clickId="c-1", address="203.0.113.7")

    assert ADS.accept({OTHER_NAMES.get(name, name): value for name, value in sent.items()}, SERVER) == ADS.accept(
        sent, SERVER
    )


@pytest.mark.parametrize(("name", "other"), OTHER_NAMES.items())
def test_a_wrong_field_is_named_as_it_was_sent_and_may_have_one_name(name: str, other: str) -> None:
    sent = {each: value for each, value in click().items() if each != name}
    for fields, message in (({other: 1.5}, None), ({name: START, other: START}, "is not a field of this event")):
        with pytest.raises(InvalidEvent) as caught:
            ADS.accept({**sent, **fields}, SERVER)

        wrong = [detail for detail in caught.value.details if detail.field == other]
        assert len(wrong) == 1
        assert wrong[0].allowed
        assert message in (None, wrong[0].message)


def test_a_refused_click_has_its_id_in_its_result_under_either_name() -> None:
    wrong = click(adType="big banner")

    status, body = AdsWorld().post({**wrong, "clickId": "c-1"}, {**wrong, "messageId": "c-2"})

    assert (status, [each["clickId"] for each in body["results"]]) == (400, ["c-1", "c-2"])


def test_a_client_that_sends_again_sends_the_same_click() -> None:
    """P3: also if the time has another form."""
    first = ADS.accept(click(), SERVER)

    assert ADS.accept(click(clickedAt=NOW // 1000), SERVER).key == first.key
    assert ADS.accept(click(clickedAt=str(NOW // 1000)), SERVER).key == first.key
    assert len(first.event["i"]) == DERIVED_ID_LENGTH


def test_a_click_without_id_and_time_gets_both_and_its_answer_says_that_a_second_is_another() -> None:
    sent = {name: value for name, value in click().items() if name != "clickedAt"}
    sender = replace(SERVER)

    first, second = ADS.accept(sent, sender), ADS.accept(sent, sender)

    assert first.key != second.key
    assert first.receipt == {
        "adId": "ad-1",
        "clickId": first.event["i"],
        "clickedAt": START,
        "sentAgain": "another click",
    }
    assert ADS.accept({**sent, "clickId": "c-1"}, sender).receipt.keys() == {"adId", "clickId", "clickedAt"}
    with pytest.raises(InvalidEvent, match="clickedAt is missing"):
        TAKEN_BACK_CLICKS.accept(sent, sender)
    assert TAKEN_BACK_CLICKS.accept({**sent, "clickedAt": START}, sender).receipt["clickId"] == first.event["i"]


@pytest.mark.parametrize(
    "other", [{"adId": "ad-2"}, {"userId": "bob"}, {"adType": "video"}, {"clickedAt": NOW // 1000 + 1}]
)
def test_clicks_without_ids_that_differ_in_any_field_are_two(other: dict[str, Any]) -> None:
    assert ADS.accept(click(**other), SERVER).event["i"] != ADS.accept(click(), SERVER).event["i"]


@given(IDS, st.integers(0, 2**50))
def test_a_position_in_an_index_leads_to_the_key_of_its_click(click_id: str, at: int) -> None:
    tag = keys.sender_tag("ad-server")
    position = keys.timestamp_sk(iso(at), click_id, tag)

    assert start_key(position) == {"timestampSk": position, "clickId": click_id, "sender": tag}
    row = {"timestampSk": position, "adId": "ad-1", "userId": "ann", "adType": "banner"}
    assert item_of(row) == {
        "key": position,
        "clickId": click_id,
        "clickedAt": iso(at),
        "adId": "ad-1",
        "userId": "ann",
        "adType": "banner",
    }
    for between in (iso(at), f"{iso(at)}#", keys.before_message(iso(at), click_id), keys.after_position(position)):
        assert all(start_key(between).values())


def test_a_click_id_of_another_sender_is_another_click() -> None:
    """P12: no user can use up the ids of others."""
    world = AdsWorld()

    world.store_all(click(clickId="c-1"))
    world.store_all(click(clickId="c-1"), subject="other")

    assert len(world.rows()) == 2


@pytest.mark.parametrize("days", [1, 7, 90])
def test_a_click_id_counts_once_for_seven_days_at_least(days: int) -> None:
    table = replace(CLICKS, retention_days=days)
    row = ADS.item(ADS.accept(click(), SERVER).event, NOW, table)

    assert row["expiresAt"] * 1_000_000 >= NOW + max(days, ONCE_DAYS) * DAY


def test_a_replayed_click_has_the_same_shard_and_ads_use_all_shards() -> None:
    def rows(at: int) -> list[dict[str, Any]]:
        return [ADS.item(ADS.accept(click(clickId=f"c-{n}"), SERVER).event, at, CLICKS) for n in range(200)]

    shards = [(row["adShardId"], row["bucketId"]) for row in rows(NOW)]

    assert [(row["adShardId"], row["bucketId"]) for row in rows(NOW + DAY)] == shards
    assert {ad for ad, _ in shards} == set(AD_INDEX.partitions("ad-1"))
    assert len({bucket for _, bucket in shards}) == CLICKS.time_shards.write


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"s": "x"}, "invalid_key"),
        ({"c": -1}, "invalid_event"),
        ({"c": 10**18}, "invalid_event"),
        ({"i": ""}, "empty_key"),
        ({"a": "a b"}, "invalid_key"),
        ({"u": None}, "invalid_event"),
        ({"h": "x" * 17}, "invalid_event"),
    ],
)
def test_a_record_that_is_no_click_is_poison(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(PoisonRecord) as caught:
        ADS.item(ADS.accept(click(), SERVER).event | fields, NOW, CLICKS)

    assert caught.value.reason == reason


def test_an_address_is_stored_only_as_a_keyed_hash(capsys: pytest.CaptureFixture[str]) -> None:
    world = AdsWorld()

    world.post(click(address=ADDRESS))
    world.post(click(userId="ann", clickId="own"), subject="ann", scope=USER)
    bodies = world.accepted()
    world.deliver(*bodies)

    hashes = {row["addressHash"] for row in world.rows()}
    assert len(world.rows()) == 2
    assert [len(each) for each in hashes] == [16]
    printed = capsys.readouterr()
    for text in (*map(str, bodies), str(world.rows()), printed.out, printed.err):
        assert ADDRESS not in text


def test_the_representation_of_a_caller_hides_the_address() -> None:
    sent = http_event("", scope=USER)
    sent["requestContext"]["http"] = {"sourceIp": ADDRESS}
    caller = caller_from_http(sent)

    assert caller.address == ADDRESS
    assert ADDRESS not in repr(caller) + repr(ANN)


def test_a_producers_own_address_is_not_stored() -> None:
    world = AdsWorld()

    world.store_all(click())

    assert "addressHash" not in world.rows()[0]


def test_equal_addresses_have_equal_hashes_and_another_key_other_ones() -> None:
    def hashed(address: str, key: str = "k") -> str | None:
        hasher = AddressHasher(MemorySecrets({"key": key * 64}), "key")
        return ADS.accept(click(userId="ann"), replace(ANN, address=address, hash_address=hasher.hashed)).event.get("h")

    assert hashed("2001:DB8:0::1") == hashed("2001:db8::1")
    assert hashed("::ffff:203.0.113.7") == hashed(ADDRESS) != hashed("203.0.113.8")
    assert hashed(ADDRESS) != hashed(ADDRESS, "l")
    assert hashed("test-invoke-source-ip") is hashed("") is None
    assert ADS.accept(click(address="::ffff:203.0.113.7"), replace(SERVER, hash_address=str)).event["h"] == ADDRESS


def test_while_the_key_cannot_be_read_clicks_are_accepted_without_an_address() -> None:
    secrets, now = MemorySecrets({}), [0.0]
    hasher = AddressHasher(secrets, "key", lambda: now[0])
    world = AdsWorld(hasher)

    for number in range(3):
        assert world.post(click(clickId=f"c-{number}", address=ADDRESS))[0] == 202
    assert secrets.reads == 1, "the key was read again at once"
    secrets.values["key"] = "k" * 64
    now[0] = COOLDOWN_SECONDS
    world.post(click(clickId="c-3", address=ADDRESS))

    assert ["h" in each for each in sorted(world.events(), key=lambda each: each["i"])] == [False, False, False, True]
