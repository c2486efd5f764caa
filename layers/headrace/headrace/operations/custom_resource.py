"""CloudFormation's custom resource protocol: every request is answered at its ResponseURL.

A stack without an answer hangs for an hour, so a failure is answered too, and Delete always succeeds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

ANSWER_SECONDS = 20.0
TEXT_LIMIT = 1000
"""Bytes of the reason and of each of the Data: CloudFormation refuses an answer of more than 4096 bytes."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def is_request(event: Mapping[str, Any]) -> bool:
    """Whether ``event`` is a custom resource request."""
    return "RequestType" in event and "ResponseURL" in event


def answer(event: Mapping[str, Any], physical_id: str, make: Callable[[], Mapping[str, str]]) -> dict[str, Any]:
    """Run ``make`` for Create and Update, nothing for Delete, and answer; its result becomes the resource's Data.

    Returns the answer that was sent. An exception of ``make`` is answered as FAILED, with its message as the reason.

    Raises:
        ValueError: the ResponseURL is neither https nor on this machine.
        OSError: the answer could not be delivered.
    """
    status, reason, data = "SUCCESS", "done", {}
    if event["RequestType"] != "Delete":
        try:
            data = {name: _bounded(value) for name, value in make().items()}
        except Exception as error:  # noqa: BLE001 - it is the answer, which the stack shows
            status, reason = "FAILED", _bounded(f"{type(error).__name__}: {error}")
    body = {
        "Status": status,
        "Reason": reason,
        "PhysicalResourceId": event.get("PhysicalResourceId") or physical_id,
        "StackId": event.get("StackId", ""),
        "RequestId": event.get("RequestId", ""),
        "LogicalResourceId": event.get("LogicalResourceId", ""),
        "Data": data,
    }
    _put(str(event["ResponseURL"]), json.dumps(body, ensure_ascii=False).encode())
    return body


def _bounded(text: str) -> str:
    return text.encode("utf-8", "replace")[:TEXT_LIMIT].decode("utf-8", "ignore")


def _put(url: str, body: bytes) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise ValueError("the ResponseURL must be https, or http on this machine")
    # S3 signs the URL for an empty content type.
    request = Request(url, data=body, method="PUT", headers={"content-type": ""})  # noqa: S310
    with urlopen(request, timeout=ANSWER_SECONDS):  # noqa: S310
        pass
