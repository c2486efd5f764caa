"""Reads secrets from AWS Secrets Manager, each once per environment unless a caller asks for a fresh value."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.aws.client import AwsClient, client
from headrace.aws.errors import AwsError
from headrace.core.errors import ConfigurationError, SecretsUnavailable


@dataclass(frozen=True)
class Credentials:
    """A username and a password; ``repr`` omits the password."""

    username: str
    password: str = field(repr=False)


class Secrets:
    """The strings of secrets in AWS Secrets Manager, by ARN or name."""

    def __init__(self, make_client: Callable[[], AwsClient] = lambda: client("secretsmanager")) -> None:
        self._make_client = make_client
        self._client: AwsClient | None = None
        self._known: dict[str, str] = {}

    def text(self, arn: str, *, fresh: bool = False) -> str:
        """The secret's string, as it was read first; ``fresh`` reads it again.

        Raises:
            SecretsUnavailable: it could not be read.
        """
        if fresh or arn not in self._known:
            self._known[arn] = self._read(arn)
        return self._known[arn]

    def versions(self, arn: str) -> list[str]:
        """The secret's string as it is now and, after a rotation, the one before; both are read again.

        Raises:
            SecretsUnavailable: one of them could not be read.
        """
        found = [self.text(arn, fresh=True)]
        try:
            found.append(self._read(arn, "AWSPREVIOUS"))
        except SecretsUnavailable as error:
            if not isinstance(error.__cause__, AwsError) or error.__cause__.code != "ResourceNotFoundException":
                raise
        return found

    def _read(self, arn: str, stage: str = "AWSCURRENT") -> str:
        try:
            if self._client is None:
                self._client = self._make_client()
            return str(self._client.call("GetSecretValue", SecretId=arn, VersionStage=stage)["SecretString"])
        except AwsError as error:
            raise SecretsUnavailable(f"the secret could not be read: {error.code}") from error


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
