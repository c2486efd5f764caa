"""Posts webhooks to one receiver: signed as Standard Webhooks says, and only to addresses of the internet.

The addresses of the receiver are looked up once for each batch and checked. Connections are opened to these very
addresses, so a name that gives another address a moment later gains nothing.
"""

from __future__ import annotations

import base64
import hmac
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from urllib3.exceptions import InvalidHeader
from urllib3.util import Retry

from headrace.core.errors import ConfigurationError, SecretsUnavailable
from headrace.core.times import MINUTE, SECOND, Clock
from headrace.live.push.connection_pool import ConnectionPool, Resolve, resolve

PREFIX = "whsec_"
KEY_BYTES = 24
"""The fewest that Standard Webhooks allows."""
SECRET_MINUTES = 5
"""How long a secret is used after it was read."""
AT_ONCE = 10
ANSWER_SECONDS = 15.0
"""How long the receiver may take to answer, from the first packet on."""

_PORTS = {"https": 443, "http": 80}
_UNICAST = IPv6Network("2000::/3")
_SPECIAL = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "3fff::/20")))
"""Special-purpose networks of IANA's registries which some versions of Python call global, wholly or in parts."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """What is posted: the ``id`` is the same in each try."""

    id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """The status of an answer, or 0; what went wrong, if anything; the seconds that the receiver asks for."""

    status: int
    failure: str = ""
    retry_after: int = 0


def key_of(secret: str) -> bytes:
    """The key in a secret, which is ``whsec_`` and base64, or only base64.

    Raises:
        ConfigurationError: it is something else.
    """
    try:
        key = base64.b64decode(secret.strip().removeprefix(PREFIX), validate=True)
    except ValueError:
        key = b""
    if len(key) < KEY_BYTES:
        raise ConfigurationError(f"the secret of webhooks must be {PREFIX} and base64 of at least {KEY_BYTES} bytes")
    return key


def _keys_of(secrets: Sequence[str]) -> list[bytes]:
    """The keys, without former ones that are no key: a secret that was wrong can be replaced."""
    keys = [key_of(secrets[0])]
    for secret in secrets[1:]:
        with suppress(ConfigurationError):
            keys.append(key_of(secret))
    return keys


def signature(key: bytes, id_: str, second: int, body: bytes) -> str:
    """The signature of one try, with its version."""
    digest = hmac.digest(key, b"%s.%d.%s" % (id_.encode(), second, body), "sha256")
    return f"v1,{base64.b64encode(digest).decode()}"


def is_public(address: str) -> bool:
    """Whether ``address`` is one of the internet.

    Of IPv6 only global unicast is, without the ranges that have an IPv4 address inside: 6to4 and Teredo; mapped
    addresses and NAT64 are in no global unicast.
    """
    found = ip_address(address)
    if not found.is_global or any(found in each for each in _SPECIAL):
        return False
    return found in _UNICAST and not found.sixtofour if isinstance(found, IPv6Address) else not found.is_multicast


class Posts:
    """Posts to ``url``, with the secrets that ``secrets`` gives, the newest first.

    ``addresses`` are networks whose addresses are allowed too, and the only ones for a URL with http.
    """

    def __init__(
        self,
        url: str,
        addresses: Sequence[IPv4Network | IPv6Network],
        secrets: Callable[[], Sequence[str]],
        clock: Clock,
        resolve: Resolve = resolve,
    ) -> None:
        self._parts = urlsplit(url)
        self._addresses = addresses
        self._secrets = secrets
        self._clock = clock
        self._resolve = resolve
        self._found: Sequence[tuple[Any, ...]] = ()
        self._keys: Sequence[bytes] = ()
        self._keys_read = 0
        self._pool = ConnectionPool(url, AT_ONCE, ANSWER_SECONDS, ANSWER_SECONDS, lambda _host, _port: self._found)

    def post(self, webhooks: Sequence[Webhook]) -> list[Answer]:
        """Post all at once; of each, in order, the answer. Never raises for what the receiver or the network does.

        A secret that cannot be read, or is no key, is a failure too, so that an alarm says so.
        """
        try:
            if self._clock.now() - self._keys_read >= SECRET_MINUTES * MINUTE:
                self._keys = _keys_of(self._secrets())
                self._keys_read = self._clock.now()
        except (SecretsUnavailable, ConfigurationError):
            return [Answer(0, "no secret")] * len(webhooks)
        try:
            self._found = self._checked()
        except (OSError, ValueError):  # also of a name or a port that cannot be one
            return [Answer(0, "no address")] * len(webhooks)
        if not self._found:
            return [Answer(0, "address inside")] * len(webhooks)
        exchanges = [_Exchange(each, self._head) for each in webhooks]
        self._pool.run(exchanges, ANSWER_SECONDS)
        return [each.answer for each in exchanges]

    def _checked(self) -> list[tuple[Any, ...]]:
        """The allowed addresses of the host; IPv4 if there are any, because Lambda has no other way out."""
        scheme, host = self._parts.scheme, self._parts.hostname
        if scheme not in _PORTS or not host or "@" in self._parts.netloc:
            return []
        found = self._resolve(host, self._parts.port or _PORTS[scheme])
        allowed = [each for each in found if self._may_reach(each[4][0], is_secure=scheme == "https")]
        return [each for each in allowed if each[0] == socket.AF_INET] or allowed

    def _may_reach(self, address: str, *, is_secure: bool) -> bool:
        return any(ip_address(address) in each for each in self._addresses) or (is_secure and is_public(address))

    def _head(self, webhook: Webhook) -> bytes:
        """The request of one try, up to its body."""
        second = self._clock.now() // SECOND
        target = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
        lines = (
            f"POST {target} HTTP/1.1",
            f"Host: {self._parts.netloc}",
            "Content-Type: application/json",
            f"Content-Length: {len(webhook.body)}",
            "User-Agent: headrace",
            f"webhook-id: {webhook.id}",
            f"webhook-timestamp: {second}",
            f"webhook-signature: {' '.join(signature(key, webhook.id, second, webhook.body) for key in self._keys)}",
        )
        return "\r\n".join([*lines, "", ""]).encode()

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()


def retry_after(given: str) -> int:
    """The seconds that a value of ``Retry-After`` asks for, by a number or a date; else 0."""
    try:
        return int(Retry().parse_retry_after(given))
    except (InvalidHeader, ValueError, OverflowError):  # also more digits or years than there are
        return 0


class _Exchange:
    """One try, as an :class:`~headrace.live.push.connection_pool.HttpExchange`."""

    def __init__(self, webhook: Webhook, head: Callable[[Webhook], bytes]) -> None:
        self._webhook = webhook
        self._head = head
        self.answer = Answer(0, "no answer")

    def request(self) -> bytes:
        return self._head(self._webhook) + self._webhook.body

    def answered(self, status: int, fields: Mapping[str, str]) -> None:
        if not status:
            return
        wanted = retry_after(fields.get("retry-after", "")) if status in (429, 503) else 0
        failure = "" if 200 <= status < 300 else f"HTTP {status}"
        self.answer = Answer(status, failure, wanted)
