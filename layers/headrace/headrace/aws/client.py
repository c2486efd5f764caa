"""Calls DynamoDB, SQS and Secrets Manager by AWS's JSON protocol: signed POST requests with short timeouts.

Not botocore: its import, and a model of the service for each client, are most of a cold start (`make bench-cold`).
"""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol
from urllib.parse import quote
from zlib import crc32

from headrace.aws.errors import THROTTLING_CODES, AwsError, NoAnswer, ServiceError
from headrace.aws.http_client import HttpClient, Response
from headrace.aws.http_connection import Target, header
from headrace.aws.sigv4 import AccessKey, Signer
from headrace.core.json import encode
from headrace.core.times import SystemClock
from headrace.runtime.environment import trace_id
from headrace.runtime.settings import AwsSettings

RETRIED_CODES = THROTTLING_CODES | {
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "PriorRequestNotComplete",
    "RequestTimeout",
    "RequestTimeoutException",
    "SlowDown",
    "TransactionInProgressException",
}
RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})
FIRST_PAUSE = 0.05
FIRST_PAUSE_THROTTLED = 1.0
"""Seconds; the longest first pause, doubled with every try. These and the retried codes are those of botocore's
standard mode, where DynamoDB's first pause is 0.025."""
REPEATABLE = ("BatchGet", "Describe", "Get", "Query", "Scan")
"""How the names of operations begin that change nothing, so that sending one twice does no harm."""
UNSIGNED = "User-Agent: headrace\r\nAccept-Encoding: identity\r\n"
TRACE_CHARACTERS = "-=;:+&[]{}\"',"
OK = 200


@dataclass(frozen=True, slots=True)
class Service:
    """What requests to one service have: the prefix of X-Amz-Target and the content type; and where its endpoint is."""

    target: str
    content_type: str
    endpoint_setting: str


SERVICES = {
    "dynamodb": Service("DynamoDB_20120810", "application/x-amz-json-1.0", "aws_endpoint_url_dynamodb"),
    "secretsmanager": Service("secretsmanager", "application/x-amz-json-1.1", "aws_endpoint_url_secrets_manager"),
    "sqs": Service("AmazonSQS", "application/x-amz-json-1.0", "aws_endpoint_url_sqs"),
}


class Connections(Protocol):
    """What sends the bytes of a request: :class:`~headrace.aws.http_client.HttpClient`."""

    def send(self, request: bytes, seconds: float, *, repeatable: bool) -> Response:
        """The response; raises ``OSError`` without one."""
        ...


class AwsClient:
    """Calls one service, from any number of threads. Made by :func:`client`."""

    def __init__(self, target: str, signer: Signer, http: Connections, seconds: float, attempts: int) -> None:
        self._target = target
        self._signer = signer
        self.http = http
        """The connections that requests go over."""
        self._seconds = seconds
        self._attempts = attempts

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one call; ``operation`` and ``parameters`` are named as in the service's API.

        Raises:
            ServiceError: the service refused it; NoAnswer: there was no complete answer.
        """
        return self.send(operation, encode(parameters).encode())

    def send(self, operation: str, body: bytes) -> dict[str, Any]:
        """The answer to one call with encoded parameters; raises as :meth:`call`."""
        hashed, attempt = sha256(body).hexdigest(), 1
        while True:
            try:
                return self._try(operation, body, hashed)
            except AwsError as error:
                if attempt >= self._attempts or not _is_retried(error):
                    raise
                first = FIRST_PAUSE_THROTTLED if error.code in THROTTLING_CODES else FIRST_PAUSE
            time.sleep(random.uniform(0, first * 2 ** (attempt - 1)))  # noqa: S311
            attempt += 1

    def _try(self, operation: str, body: bytes, hashed: str) -> dict[str, Any]:
        target = f"{self._target}.{operation}"
        head = self._signer.head("", hashed, len(body), target, UNSIGNED + _trace_header())
        try:
            response = self.http.send(head + body, self._seconds, repeatable=operation.startswith(REPEATABLE))
        except OSError as error:
            raise NoAnswer(type(error).__name__) from error
        return _answer(response)


def client(service: str, *, timeout: float = 2.0, attempts: int = 2, connections: int = 10) -> AwsClient:
    """A client of ``service`` that gives up after ``attempts`` tries of ``timeout`` seconds each.

    ``connections`` of them are kept. A try that opens one may take another second.

    Raises:
        ConfigurationError: a variable with the region or the credentials is missing.
    """
    settings, known = AwsSettings.read(), SERVICES[service]
    region, url = settings.aws_default_region, endpoint(service, settings)
    signer = Signer(service, url, region, access_key(settings), SystemClock(), known.content_type)
    return AwsClient(known.target, signer, HttpClient(Target(url), connections), timeout, attempts)


def access_key(settings: AwsSettings) -> AccessKey:
    """The credentials of the function's role. Lambda replaces the environment before they expire."""
    return AccessKey(settings.aws_access_key_id, settings.aws_secret_access_key, settings.aws_session_token)


def endpoint(service: str, settings: AwsSettings) -> str:
    """The URL of ``service``: from the variables that AWS's own clients read too, or else the region's public one."""
    domain = "amazonaws.com.cn" if settings.aws_default_region.startswith("cn-") else "amazonaws.com"
    given: str = getattr(settings, SERVICES[service].endpoint_setting)
    return given or settings.aws_endpoint_url or f"https://{service}.{settings.aws_default_region}.{domain}"


def _answer(response: Response) -> dict[str, Any]:
    checksum = header(response.head, b"x-amz-crc32")
    if checksum is not None and checksum != b"%d" % crc32(response.body):
        raise NoAnswer("ChecksumError")
    if response.status != OK:
        raise ServiceError(_code(response), response.status)
    try:
        answer: dict[str, Any] = json.loads(response.body)
    except ValueError as error:
        raise NoAnswer("NotJson") from error
    return answer


def _code(response: Response) -> str:
    """The code of an error: ``Name`` from ``com.amazonaws.dynamodb.v20120810#Name``; the status without one."""
    try:
        code = str(json.loads(response.body)["__type"])
    except (ValueError, KeyError, TypeError):
        return str(response.status)
    return code.partition(":")[0].rpartition("#")[2]


def _is_retried(error: AwsError) -> bool:
    if isinstance(error, ServiceError):
        return error.code in RETRIED_CODES or error.status in RETRIED_STATUSES
    return True


def _trace_header() -> str:
    # As AWS's own clients do: Lambda stops loops by it, and X-Ray links a record of the retry queue to its sender.
    trace = trace_id()
    return f"X-Amzn-Trace-Id: {quote(trace, safe=TRACE_CHARACTERS)}\r\n" if trace else ""
