"""Makes the broker's users for publishers and for event source mappings, and repairs them.

CloudFormation makes only the administrator. These two have no tags, so the management API refuses them. Topic
permissions are not set: they concern topic exchanges only.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from urllib3 import PoolManager
from urllib3.exceptions import HTTPError

from headrace.core.errors import BrokerUnavailable, ConfigurationError, echo
from headrace.queues.names import LIVE_EXCHANGE, PERSIST_EXCHANGE
from headrace.queues.rabbitmq.endpoints import until_available, virtual_host
from headrace.runtime.secrets import Credentials, Secrets, credentials
from headrace.runtime.setting_forms import CredentialsArn, PrivateUrls
from headrace.runtime.settings import BrokerSettings

CALL_SECONDS = 3.0
"""The longest time to connect, and for each read of an answer."""
_REASON_LENGTH = 200
_TEMPORARY = (408, 429)


class BrokerUsersSettings(BrokerSettings):
    """For declare_topology: the broker's users besides the administrator of ``broker_secret_arn``."""

    broker_console_urls: PrivateUrls = ()
    """Address of each broker's management API; by default https on the host of its first endpoint."""
    broker_publisher_secret_arn: CredentialsArn
    """Secret with the name and password of the user that publishes."""
    broker_consumer_secret_arn: CredentialsArn
    """Secret with the name and password of the user that event source mappings read with."""


class ManagementApi:
    """The management API at ``url`` (https verifies the host), as ``administrator``; one connection for all calls.

    Each method raises BrokerUnavailable if there is no answer, and ConfigurationError if the broker refuses the call.
    """

    def __init__(self, url: str, administrator: Credentials) -> None:
        self._base = f"{url.rstrip('/')}/api/"
        login = b64encode(f"{administrator.username}:{administrator.password}".encode()).decode()
        headers = {"authorization": f"Basic {login}", "content-type": "application/json"}
        self._pool = PoolManager(headers=headers, timeout=CALL_SECONDS)

    def get(self, *path: str) -> dict[str, Any] | None:
        """The object at ``path`` (such as ``"users", "alice"``); ``None`` if there is none."""
        answer = self._call("GET", path)
        if answer.status == 404:
            return None
        found = _json(answer)
        if not isinstance(found, dict):
            raise BrokerUnavailable(f"the broker's management API gave no JSON object for {'/'.join(path)}")
        return found

    def names(self, *path: str) -> list[str]:
        """The names of the objects at ``path``, such as ``"queues", "/"``."""
        found = _json(self._call("GET", path))
        if not isinstance(found, list):
            raise BrokerUnavailable(f"the broker's management API gave no JSON list for {'/'.join(path)}")
        return [str(each["name"]) for each in found]

    def put(self, *path: str, body: Mapping[str, str]) -> None:
        """Create or replace the object at ``path``."""
        self._call("PUT", path, json.dumps(body))

    def _call(self, method: str, path: tuple[str, ...], body: str | None = None) -> Any:
        """The response of urllib3. Only what its version 1.26 has too is used, because Lambda chooses the version."""
        target = self._base + "/".join(quote(part, safe="") for part in path)
        try:
            answer = self._pool.request(method, target, body=body, retries=False, redirect=False)
        except HTTPError as error:
            raise BrokerUnavailable(f"the broker's management API is unavailable: {type(error).__name__}") from error
        if answer.status >= 500 or answer.status in _TEMPORARY:
            raise BrokerUnavailable(f"the broker's management API answered with {answer.status}")
        if answer.status >= 300 and (method, answer.status) != ("GET", 404):
            found = _json(answer)
            reason = found.get("reason") or found.get("error") if isinstance(found, dict) else None
            shown = echo(reason or "no reason", _REASON_LENGTH)
            raise ConfigurationError(f"the broker refuses {'/'.join(path)} with {answer.status}: {shown}")
        return answer


def _json(answer: Any) -> Any:
    try:
        return json.loads(answer.data)
    except (ValueError, RecursionError):
        return None


_NOTHING = "^$"
_SALT_BYTES = 4


@dataclass(frozen=True)
class Permissions:
    """Regular expressions of the exchanges and queues that a user may declare or delete, write to, and read."""

    configure: str
    write: str
    read: str


PUBLISHER = Permissions(
    configure=_NOTHING,
    write="^({}|{})$".format(*(name.replace(".", r"\.") for name in (PERSIST_EXCHANGE, LIVE_EXCHANGE))),
    read=_NOTHING,
)
"""Confirms and ``mandatory`` need no permission, and no event goes to the default exchange."""
CONSUMER = Permissions(configure=_NOTHING, write=_NOTHING, read=r"^(persist\.[a-z]+\.[0-9]+|live\.([0-9]+|signals))$")
"""Consuming and passive declarations need no other permission. If AWS's mappings declare their queues actively, they
need the same names in ``configure``: docs/adr/0053-broker-users.md.
"""


def ensure_users(settings: BrokerUsersSettings, secrets: Secrets, *, seconds: float = 0.0) -> list[str]:
    """Give both users of a broker the passwords in their secrets, which are read again, and their permissions.

    A broker or secret that is unavailable is tried for ``seconds``. Only what differs is written.

    Returns:
        What was written, a sentence for each.

    Raises:
        BrokerUnavailable: the management API does not answer.
        SecretsUnavailable: a secret could not be read.
        ConfigurationError: the broker refuses a user, or the secrets do not name three users.
    """
    return until_available(lambda: _ensure_all(settings, secrets), seconds)


def console_url(settings: BrokerUsersSettings) -> str:
    """The URL of the management API: the first that is set, or that of the first endpoint's host, as on Amazon MQ."""
    return next(iter(settings.broker_console_urls), f"https://{urlsplit(settings.broker_endpoints[0][0]).hostname}")


def _ensure_all(settings: BrokerUsersSettings, secrets: Secrets) -> list[str]:
    administrator = credentials(secrets, settings.broker_secret_arn)
    publisher = credentials(secrets, settings.broker_publisher_secret_arn, fresh=True)
    consumer = credentials(secrets, settings.broker_consumer_secret_arn, fresh=True)
    if len({each.username for each in (administrator, publisher, consumer)}) < 3:
        # Otherwise the administrator could lose its rights here, for good.
        raise ConfigurationError("the secrets of administrator, publisher and consumer must name three users")
    vhost = virtual_host(settings.broker_endpoints[0][0])
    api = ManagementApi(console_url(settings), administrator)
    return [*_ensure(api, vhost, publisher, PUBLISHER), *_ensure(api, vhost, consumer, CONSUMER)]


def _ensure(api: ManagementApi, vhost: str, user: Credentials, permissions: Permissions) -> list[str]:
    written = []
    found = api.get("users", user.username)
    if found is None or found.get("tags") not in ("", []) or not _has_password(found, user.password):
        api.put("users", user.username, body={"password": user.password, "tags": ""})
        written.append(f"user {user.username} {'has its password and no tags again' if found else 'is made'}")
    wanted = asdict(permissions)
    allowed = api.get("permissions", vhost, user.username) or {}
    if {name: allowed.get(name) for name in wanted} != wanted:
        api.put("permissions", vhost, user.username, body=wanted)
        written.append(f"user {user.username} has its permissions{' again' if allowed else ''}")
    return written


def _has_password(user: dict[str, Any], password: str) -> bool:
    """Whether ``password`` has the hash that the broker shows; false also for a hash of an unknown kind."""
    try:
        shown = b64decode(str(user.get("password_hash")), validate=True)
        expected = hashlib.new(str(user.get("hashing_algorithm")).removeprefix("rabbit_password_hashing_"))
    except ValueError:
        return False
    expected.update(shown[:_SALT_BYTES] + password.encode())
    return hmac.compare_digest(shown[_SALT_BYTES:], expected.digest())
