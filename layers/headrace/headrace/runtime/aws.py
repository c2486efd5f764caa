"""Makes boto3's clients of AWS services, calls them with errors that hold nothing private, and signs other requests.

boto3 reads the region, the credentials, endpoints (``AWS_ENDPOINT_URL_*``), proxies and ``AWS_CA_BUNDLE`` itself.
"""

from __future__ import annotations

import functools
import hmac
import logging
import re
import ssl
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlsplit

import boto3
from botocore.config import Config
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import get_session
from botocore.utils import get_environ_proxies

from headrace.core.errors import ConfigurationError
from headrace.core.times import SECOND, Clock
from headrace.runtime.observability import report_refusal

AwsClient = Any
"""A client of boto3, which makes the class of each service at run time."""

CONNECT_SECONDS = 1.0
USER_AGENT = "headrace"

# What only a change of a right, a resource or the code repairs.
_REFUSAL = re.compile(
    "AccessDenied|Signature|Token|UnrecognizedClient|"  # a right, or the credentials of the role
    "NonExistentQueue|QueueDoesNotExist|ResourceNotFound|"  # a table, an index, a queue or a secret
    "DecryptionFailure|InvalidParameter|InvalidRequest|MissingParameter|Serialization|Validation"  # a parameter
)

for _library in ("boto3", "botocore", "urllib3"):
    # Below this level they log requests and responses, with secrets, tokens and messages. With LogLevel DEBUG, Lambda
    # lets every logger without a level of its own write these lines.
    logging.getLogger(_library).setLevel(logging.WARNING)


class AwsError(Exception):
    """The service refused a call; ``code`` is the service's.

    Neither it nor ``str()`` has private data: the service's message is left out, because it may quote an item.
    ``item`` is the row for which a condition failed, as DynamoDB JSON, if the call asked for it.
    """

    def __init__(self, code: str, item: dict[str, Any] | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.item = item or {}


class NoAnswer(AwsError):
    """There was no complete answer in time: the call may have been executed. ``code`` names botocore's error."""


@functools.cache
def session() -> boto3.Session:
    """The session of this environment, with the credentials of the function's role."""
    return boto3.Session()


def signing() -> tuple[str, Credentials]:
    """The region and the credentials to sign requests with.

    Raises:
        ConfigurationError: there are no credentials.
    """
    found = session()
    credentials = found.get_credentials()
    if credentials is None:
        raise ConfigurationError("the credentials of the function's role are missing")
    return found.region_name, credentials


def client(service: str, *, timeout: float = 2.0, attempts: int = 2, connections: int = 10) -> AwsClient:
    """A client of ``service`` that gives up after ``attempts`` tries of ``timeout`` seconds each.

    ``connections`` of them are kept. A try that opens one may take another second.
    """
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=timeout,
        retries={"mode": "standard", "total_max_attempts": attempts},
        max_pool_connections=connections,
        tcp_keepalive=True,
        # The service checks parameters too; checking them here takes most of the CPU of a large call.
        parameter_validation=False,
        disable_request_compression=True,
        user_agent=USER_AGENT,
    )
    if service == "s3":
        # For links: by Signature 4, and for the bucket's own host in the Region, which the console's policy names.
        # Other hosts redirect.
        config = config.merge(
            Config(
                signature_version="s3v4",
                s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"},
            )
        )
    make: Any = session().client
    return make(service, config=config)


def has_proxy(client: AwsClient) -> bool:
    """Whether the requests of ``client`` go through a proxy."""
    return bool(client.meta.config.proxies or get_environ_proxies(client.meta.endpoint_url))


@functools.cache
def tls_context() -> ssl.SSLContext:
    """What connections of our own trust: the certificates of ``AWS_CA_BUNDLE``, or the system's."""
    return ssl.create_default_context(cafile=get_session().get_config_variable("ca_bundle"))


def call(
    operation: Callable[..., dict[str, Any]], *, expected: Collection[str] = (), **parameters: Any
) -> dict[str, Any]:
    """The answer to one call; ``operation`` is a method of a client.

    A refusal that no retry can repair is reported, unless its code is ``expected``.

    Raises:
        AwsError: the service refused it; NoAnswer: there was no complete answer.
    """
    try:
        answer = operation(**parameters)
    except (ClientError, BotoCoreError) as error:
        found: AwsError = NoAnswer(type(error).__name__)
        if isinstance(error, ClientError):
            refusal: Any = error.response
            found = AwsError(str(refusal.get("Error", {}).get("Code", "Unknown")), refusal.get("Item"))
        if _REFUSAL.search(found.code) and found.code not in expected:
            report_refusal(operation.__name__, found.code)
        raise found from None
    if "RequestId" not in answer["ResponseMetadata"]:
        # boto3 takes the page of a proxy for an empty answer, which would mean that all rows are written.
        raise NoAnswer("NotFromAws")
    return answer


_ALGORITHM = "AWS4-HMAC-SHA256"
REMEMBERED = 1000
"""Paths whose URL-encoded form is remembered."""
Headers = tuple[tuple[str, str], ...]
"""Names, in lower case, and values."""


class Signer:
    """Makes the heads of posts to a ``service`` of AWS, to addresses that begin with ``url`` (Signature Version 4).

    It takes a fraction of the CPU of botocore's signer. boto3 renews its ``credentials`` before they expire.
    """

    def __init__(self, service: str, url: str, region: str, credentials: Credentials, clock: Clock) -> None:
        parts = urlsplit(url)
        self._host = parts.netloc
        self._path = parts.path or "/"
        self._scope = f"{region}/{service}/aws4_request"
        self._credentials = credentials
        self._clock = clock

    def head(self, path: str, hashed: str, length: int, more: Headers = ()) -> bytes:
        """The request up to its body of ``length`` bytes, whose SHA-256 is ``hashed`` (hexadecimal).

        ``path`` is URL-encoded, and follows the path of the signer's address. ``more`` are further headers.
        """
        path = self._path + path
        known = self._credentials.get_frozen_credentials()
        second = self._clock.now() // SECOND
        signed, stamp, key, headers, authorization = _shared(self._host, self._scope, known, second, more)
        # The signature is over the path as it is sent, URL-encoded once more.
        canonical = f"POST\n{_encoded(path)}\n\n{signed}\n{hashed}"
        to_sign = f"{_ALGORITHM}\n{stamp}\n{sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
        head = f"POST {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n{authorization}{signature}\r\n\r\n"
        return head.encode()


@functools.lru_cache(maxsize=16)
def _signing_key(secret_key: str, scope: str) -> bytes:
    """The key that requests of a ``scope`` are signed with: a day, a region and a service."""
    key = f"AWS4{secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


@functools.lru_cache(maxsize=REMEMBERED)
def _encoded(path: str) -> str:
    return quote(path, safe="/~")


@functools.lru_cache(maxsize=16)
def _shared(
    host: str, place: str, known: ReadOnlyCredentials, second: int, more: Headers
) -> tuple[str, str, bytes, str, str]:
    """What the heads of one second have in common: parts of what is signed, the key, and parts of the head."""
    stamp = datetime.fromtimestamp(second, UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{place}"
    headers = {"host": host, "x-amz-date": stamp, **dict(more)}
    if known.token:
        headers["x-amz-security-token"] = known.token
    ordered = sorted(headers.items())
    names = ";".join([name for name, _ in ordered])
    lines = "".join([f"{name}:{value}\n" for name, value in ordered])
    key = _signing_key(known.secret_key, scope)
    authorization = (
        f"Authorization: {_ALGORITHM} Credential={known.access_key}/{scope}, SignedHeaders={names}, Signature="
    )
    return f"{lines}\n{names}", f"{stamp}\n{scope}", key, lines.replace("\n", "\r\n"), authorization
