"""Keyed hashes of clients' addresses: equal addresses have equal hashes, and only with the key can they be recovered.

There are only about four billion IPv4 addresses: without a key, a reader of the rows could try them all.
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
import time
from collections.abc import Callable

from headrace.core.errors import SecretsUnavailable
from headrace.runtime.breaker import Cooldown
from headrace.runtime.observability import report
from headrace.runtime.secrets import Secrets

HASH_BYTES = 12


def canonical(address: str) -> str:
    """The canonical text of an address; an IPv4-mapped IPv6 address is the IPv4 address.

    Raises:
        ValueError: not an address.
    """
    known = ipaddress.ip_address(address)
    mapped = known.ipv4_mapped if isinstance(known, ipaddress.IPv6Address) else None
    return str(mapped or known)


class AddressHasher:
    """Hashes with the key in the secret ``arn``, read once per environment."""

    def __init__(self, secrets: Secrets, arn: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._secrets = secrets
        self._arn = arn
        self._cooldown = Cooldown(monotonic)

    def hashed(self, address: str) -> str | None:
        """A :func:`canonical` ``address`` as 16 characters of base64url; ``None`` if the key cannot be read.

        The address itself is never stored. A click without a hash is stored without it.
        """
        if self._cooldown.is_active:
            return None
        try:
            key = self._secrets.text(self._arn).encode()
        except SecretsUnavailable as error:
            self._cooldown.start()
            report("address key", f"clicks are stored without the hash of their address: {error.message}")
            return None
        return base64.urlsafe_b64encode(hmac.digest(key, address.encode(), "sha256")[:HASH_BYTES]).decode()
