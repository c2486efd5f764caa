"""How clicks are sent and taken back, and how the addresses that they come from are hashed."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, Field
from pydantic_core import PydanticCustomError

from headrace.core import keys, times
from headrace.core.errors import FieldError, InvalidEvent
from headrace.core.fields import Id, IncomingModel, NewId, Text, Time, incoming
from headrace.core.sender import Incoming, SenderContext, ValidatedEvent, choose_time, choose_user
from headrace.delivery import http_routes
from headrace.delivery.http_routes import batch, single
from headrace.features.ads.addresses import AddressHasher, canonical
from headrace.features.ads.stream import AD_TYPE_FORM, ADS, ID_FIELD, OTHER_ID_FIELD, SPACELESS, AdType, event_id
from headrace.runtime.setting_forms import KeyArn, Settings
from headrace.services.shared import secrets

NEW_AD_ID_FORM = f"{keys.NEW_ID_FORM}, without spaces"
ADDRESS_FORM = "an IPv4 or IPv6 address; only with the scope events:write"
DERIVED_ID_LENGTH = 20
"""Characters of the id of a click that came without one: 100 bits."""


def _address(value: str) -> str:
    try:
        return canonical(value)
    except ValueError:
        raise PydanticCustomError("address", "is not an address") from None


NewAdId = Annotated[NewId, *SPACELESS]
USER_ID = AliasChoices("userId", "uid")
CLICKED_AT = AliasChoices("clickedAt", "timestamp")
CLICK_ID = AliasChoices(ID_FIELD, OTHER_ID_FIELD)
ADDRESS = AliasChoices("address", "ip")


class IncomingClick(IncomingModel):
    """A click as a client sends it. The second name of a field is the one in other click pipelines."""

    ad_id: NewAdId = Field(description=NEW_AD_ID_FORM)
    user_id: Id | None = Field(default=None, validation_alias=USER_ID, description=keys.ID_FORM)
    ad_type: AdType = Field(description=AD_TYPE_FORM)
    clicked_at: Time | None = Field(default=None, validation_alias=CLICKED_AT, description=times.ACCEPTED_FORM)
    click_id: NewId | None = Field(default=None, validation_alias=CLICK_ID, description=keys.NEW_ID_FORM)
    address: Annotated[Text, AfterValidator(_address)] | None = Field(
        default=None, validation_alias=ADDRESS, description=ADDRESS_FORM
    )


_incoming = incoming(IncomingClick)


def accept(raw: object, sender: SenderContext) -> ValidatedEvent:
    """A client's click, validated and stamped. It has the hash of the address instead of the address."""
    click = _incoming(raw)
    # A click is known by its id alone, so the id needs no time.
    timed = click.click_id if click.click_id and times.uuid7_micros(click.click_id) is not None else None
    clicked_at = choose_time(sender, ID_FIELD, timed, click.clicked_at, "clickedAt")
    user_id = _user_id(click, sender)
    click_id = click.click_id or _derived_id(click, user_id, clicked_at)
    tag = keys.sender_tag(sender.subject)
    event: dict[str, Any] = {
        "a": click.ad_id,
        "u": user_id,
        "t": click.ad_type,
        "c": times.micros_of(clicked_at),
        "i": click_id,
        "s": tag,
    }
    if (hashed := _address_hash(click, sender)) is not None:
        event["h"] = hashed
    receipt = {"adId": click.ad_id, ID_FIELD: click_id, "clickedAt": clicked_at}
    if click.click_id is None and click.clicked_at is None:
        receipt["sentAgain"] = "another click"
    key = (click.ad_id, keys.timestamp_sk(clicked_at, click_id, tag))
    return ValidatedEvent(event, event_id(click_id, tag), key, receipt)


def take_back(raw: object, sender: SenderContext) -> ValidatedEvent:
    """A client's wish to take a click back, which names the click as it was sent. The click may be of any age."""
    click = _incoming(raw)
    if click.clicked_at is None:
        allowed = f"the time that was sent, or that of the answer: {times.ACCEPTED_FORM}"
        raise InvalidEvent(details=[FieldError("clickedAt", "is missing", None, allowed)])
    click_id = click.click_id or _derived_id(click, _user_id(click, sender), click.clicked_at)
    tag = keys.sender_tag(sender.subject)
    receipt = {"adId": click.ad_id, ID_FIELD: click_id, "clickedAt": click.clicked_at}
    return ValidatedEvent({"i": click_id, "b": tag}, event_id(click_id, tag), (click_id, tag), receipt)


def _derived_id(click: IncomingClick, user_id: str, clicked_at: str) -> str:
    return keys.derived_id("click", click.ad_id, user_id, click.ad_type, clicked_at)[:DERIVED_ID_LENGTH]


def _user_id(click: IncomingClick, sender: SenderContext) -> str:
    """The user who clicked: a trusted producer names the user, every other sender is the user."""
    if sender.trusted and click.user_id is None:
        raise InvalidEvent(details=[FieldError("userId", "is missing", None, f"{keys.ID_FORM}: who clicked")])
    return choose_user(sender, click.user_id, None)[0]


def _address_hash(click: IncomingClick, sender: SenderContext) -> str | None:
    """The hash of the client's address: the connection's, or from a trusted producer the one in the event."""
    if sender.trusted:
        return sender.hash_address(click.address) if click.address else None
    if click.address is not None:
        raise InvalidEvent(details=[FieldError("address", "needs the scope events:write", None, ADDRESS_FORM)])
    try:
        return sender.hash_address(canonical(sender.address))
    except ValueError:  # the gateway named none
        return None


SENT = Incoming(accept, IncomingClick)
TAKEN_BACK_CLICKS = replace(ADS, sent=lambda: Incoming(take_back, IncomingClick))
"""How clients take clicks back. It has the queues and the table of clicks."""
ROUTES = {
    "receive_http": {
        "POST /ads/{adId}/clicks": single(ADS, "adId"),
        "POST /clicks/batch": batch(ADS),
        "POST /clicks/take-back": http_routes.take_back(TAKEN_BACK_CLICKS),
    }
}


class AddressSettings(Settings):
    """For receive_http: the key for hashes of clients' addresses."""

    address_secret_arn: KeyArn
    """Secret that clients' addresses are hashed with."""


def hash_address(address: str) -> str | None:
    """The keyed hash of a canonical address; see :meth:`.AddressHasher.hashed`."""
    return _hasher().hashed(address)


@functools.cache
def _hasher() -> AddressHasher:
    return AddressHasher(secrets(), AddressSettings.read().address_secret_arn)
