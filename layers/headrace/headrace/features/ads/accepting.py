"""How clicks are sent and taken back, and how the addresses that they come from are hashed."""

from __future__ import annotations

import functools

from headrace.delivery.http_routes import batch, single, take_back
from headrace.features.ads.addresses import AddressHasher
from headrace.features.ads.stream import ADS, TAKEN_BACK_CLICKS
from headrace.runtime.settings import AddressSettings
from headrace.services.shared import secrets

ROUTES = {
    "receive_http": {
        "POST /ads/{adId}/clicks": single(ADS, "adId"),
        "POST /clicks/batch": batch(ADS),
        "POST /clicks/take-back": take_back(TAKEN_BACK_CLICKS),
    }
}


def hash_address(address: str) -> str | None:
    """The keyed hash of an address; see :meth:`.AddressHasher.hashed`."""
    return _hasher().hashed(address)


@functools.cache
def _hasher() -> AddressHasher:
    return AddressHasher(secrets(), AddressSettings.read().address_secret_arn)
