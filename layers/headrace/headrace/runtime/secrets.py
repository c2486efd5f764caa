"""Reads secrets from AWS Secrets Manager, each once per environment unless a caller asks for a fresh value."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from headrace.core.errors import ConfigurationError, SecretsUnavailable
from headrace.runtime.aws import AwsClient, aws_error, client, is_refusal
from headrace.runtime.observability import report_refusal

FOREVER = 10 * 365 * 24 * 3600
"""Seconds; no environment lives that long."""


@dataclass(frozen=True)
class Credentials:
    """A username and a password; ``repr`` omits the password."""

    username: str
    password: str = field(repr=False)


class Secrets:
    """The strings of secrets in AWS Secrets Manager, by ARN or name. Every method may raise SecretsUnavailable."""

    def __init__(self, make_client: Callable[[], AwsClient] = lambda: client("secretsmanager")) -> None:
        self._make_client = make_client
        self._provider: Any = None

    def text(self, arn: str, *, fresh: bool = False) -> str:
        """The secret's string, as it was read first; ``fresh`` reads it again."""
        return self._read(arn, FOREVER, fresh=fresh)

    def versions(self, arn: str) -> list[str]:
        """The secret's string as it is now and, after a rotation, the one before; both are read again."""
        found = [self.text(arn, fresh=True)]
        with suppress(_NoSuchVersion):
            found.append(self._read(arn, 0, fresh=True, VersionStage="AWSPREVIOUS"))
        return found

    def _read(self, arn: str, seconds: int, *, fresh: bool, **version: Any) -> str:
        # Imported here: it costs a cold start 10 ms, and the functions of connections read no secret.
        from aws_lambda_powertools.utilities.parameters import GetParameterError, SecretsProvider

        if self._provider is None:
            self._provider = SecretsProvider(boto3_client=self._make_client())
        try:
            return str(self._provider.get(arn, seconds, force_fetch=fresh, **version))
        except GetParameterError as error:
            # Its message is that of the service.
            code = aws_error(error.__context__).code
            if is_refusal(code) and not version:  # a secret may have no version before
                report_refusal("get_secret_value", code)
            kind = _NoSuchVersion if code == "ResourceNotFoundException" else SecretsUnavailable
            raise kind(f"the secret could not be read: {code}") from None


class _NoSuchVersion(SecretsUnavailable):
    """The secret does not exist, or has no version of that stage."""


def credentials(secrets: Secrets, arn: str, *, fresh: bool = False) -> Credentials:
    """The username and password in the secret ``arn``.

    Raises:
        SecretsUnavailable: it could not be read.
        ConfigurationError: it does not hold ``{"username", "password"}``.
    """
    try:
        content = json.loads(secrets.text(arn, fresh=fresh))
        return Credentials(str(content["username"]), str(content["password"]))
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError('the broker\'s secret must be {"username": ..., "password": ...}') from None
