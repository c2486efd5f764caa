"""Reads secrets from AWS Secrets Manager, each once per environment unless a caller asks for a fresh value."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from headrace.core.errors import ConfigurationError, SecretsUnavailable
from headrace.runtime.aws import AwsClient, AwsError, call, client

_MISSING = "ResourceNotFoundException"


@dataclass(frozen=True)
class Credentials:
    """A username and a password; ``repr`` omits the password."""

    username: str
    password: str = field(repr=False)


class Secrets:
    """The strings of secrets in AWS Secrets Manager, by ARN or name. Every method may raise SecretsUnavailable."""

    def __init__(self, make_client: Callable[[], AwsClient] = lambda: client("secretsmanager")) -> None:
        self._client = functools.cache(make_client)
        self._texts: dict[str, str] = {}

    def text(self, arn: str, *, fresh: bool = False) -> str:
        """The secret's string, as it was read first; ``fresh`` reads it again."""
        if fresh or arn not in self._texts:
            self._texts[arn] = self._read(arn)
        return self._texts[arn]

    def versions(self, arn: str) -> list[str]:
        """The secret's string as it is now and, after a rotation, the one before; both are read again."""
        found = [self.text(arn, fresh=True)]
        with suppress(_NoSuchVersion):
            found.append(self._read(arn, VersionStage="AWSPREVIOUS"))
        return found

    def _read(self, arn: str, **version: str) -> str:
        expected = {_MISSING} if version else ()  # a secret may have no version before
        try:
            answer = call(self._client().get_secret_value, expected=expected, SecretId=arn, **version)
        except AwsError as error:
            kind = _NoSuchVersion if error.code == _MISSING else SecretsUnavailable
            raise kind(f"the secret could not be read: {error.code}") from None
        return str(answer["SecretString"])


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
