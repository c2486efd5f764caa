"""Secrets are read as they are now and, after a rotation, as they were before it."""

from __future__ import annotations

import logging
import uuid
from typing import Any

import pytest

from headrace.core.errors import SecretsUnavailable
from headrace.runtime.secrets import Secrets
from tests.contract.emulators import sdk


@pytest.fixture
def manager(ministack: str) -> Any:
    """A client of Secrets Manager that makes and rotates secrets."""
    return sdk("secretsmanager")


def created(manager: Any, text: str) -> str:
    return str(manager.create_secret(Name=f"secret-{uuid.uuid4()}", SecretString=text)["ARN"])


def test_a_secret_that_was_never_rotated_has_one_version(manager: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert Secrets().versions(created(manager, "first")) == ["first"]
    assert "Unexpected" not in capsys.readouterr().out


def test_a_rotated_secret_has_its_current_and_its_previous_version(manager: Any) -> None:
    arn, secrets = created(manager, "first"), Secrets()
    assert secrets.text(arn) == "first"

    for text in ("second", "third"):
        manager.put_secret_value(SecretId=arn, SecretString=text)

    assert secrets.text(arn) == "first"
    assert secrets.versions(arn) == ["third", "second"]
    assert secrets.text(arn) == "third"


def test_a_secret_that_does_not_exist_is_unavailable_and_sets_an_alarm(
    manager: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SecretsUnavailable, match="ResourceNotFoundException"):
        Secrets().versions(created(manager, "first") + "x")

    assert '"Unexpected":[1.0]' in capsys.readouterr().out.replace(" ", "")


def test_a_secret_is_in_no_log_line_of_any_level(manager: Any, caplog: pytest.LogCaptureFixture) -> None:
    arn = created(manager, "the-password")

    with caplog.at_level(logging.DEBUG):
        assert Secrets().text(arn) == "the-password"

    assert "the-password" not in caplog.text
