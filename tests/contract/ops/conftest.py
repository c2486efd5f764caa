"""AWS for the operators' commands: moto, and played answers to what moto lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import botocore.loaders
import botocore.session
import pytest
from botocore.awsrequest import AWSResponse

LOADER = botocore.loaders.create_loader()
"""Keeps the models of AWS's services; that of EC2 takes a second to load."""


@pytest.fixture
def account(aws: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An account in moto, for the clients that commands create; its URL."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    session = botocore.session.Session()
    session.register_component("data_loader", LOADER)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", boto3.Session(botocore_session=session))
    yield aws
    monkeypatch.undo()


@pytest.fixture
def plays(account: str) -> Callable[..., None]:
    """Lets AWS give an answer to each operation; botocore still checks the requests.

    An answer is an object, or a function that makes it of the request's path.
    """
    events: Any = boto3.DEFAULT_SESSION.events  # type: ignore[attr-defined]
    answers: dict[str, Any] = {}

    def respond(model: Any, params: Any, **_: Any) -> Any:
        if (answer := answers.get(model.name)) is None:
            return None
        return AWSResponse("", 200, {}, None), answer(params["url_path"]) if callable(answer) else answer

    events.register("before-call", respond)
    return lambda **given: answers.update(given)


def listed(*resources: tuple[str, str, str]) -> dict[str, Any]:
    """An answer for ``plays``: a stack has these resources, each by its type, logical and physical id."""
    names = ("ResourceType", "LogicalResourceId", "PhysicalResourceId")
    return {"ListStackResources": {"StackResourceSummaries": [dict(zip(names, one, strict=True)) for one in resources]}}
