"""Secrets: read once per environment, and again only when one is outdated."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from headrace.core.errors import ConfigurationError, SecretsUnavailable
from headrace.runtime.aws import AWS_ERRORS, client, error_code


@dataclass(frozen=True)
class Credentials:
    """A username and a password; the password is left out of ``repr``."""

    username: str
    password: str = field(repr=False)


class Secrets(Protocol):
    """Reads secrets by ARN or name."""

    def text(self, arn: str, *, fresh: bool = False) -> str:
        """The secret's string; ``fresh`` reads it again.

        Raises:
            SecretsUnavailable: it could not be read.
        """
        ...


class MemorySecrets:
    """Secrets in a dict, for tests; ``reads`` counts uncached reads."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = dict(values)
        self.reads = 0
        self._known: dict[str, str] = {}

    def text(self, arn: str, *, fresh: bool = False) -> str:
        if fresh or arn not in self._known:
            self.reads += 1
            if arn not in self.values:
                raise SecretsUnavailable("the secret could not be read")
            self._known[arn] = self.values[arn]
        return self._known[arn]


class ManagedSecrets:
    """Secrets in AWS Secrets Manager."""

    def __init__(self, make_client: Callable[[], Any] = lambda: client("secretsmanager")) -> None:
        self._make_client = make_client
        self._client: Any = None
        self._known: dict[str, str] = {}

    def text(self, arn: str, *, fresh: bool = False) -> str:
        if fresh or arn not in self._known:
            try:
                if self._client is None:
                    self._client = self._make_client()
                self._known[arn] = str(self._client.get_secret_value(SecretId=arn)["SecretString"])
            except AWS_ERRORS as error:
                raise SecretsUnavailable(f"the secret could not be read: {error_code(error)}") from error
        return self._known[arn]


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
