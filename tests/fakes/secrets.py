"""Secrets in memory, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from headrace.runtime.secrets import Secrets


class MemorySecrets(Secrets):
    """Secrets in the dict ``values``; ``reads`` counts uncached reads."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(lambda: self)  # it has the one method that is called
        self.values = dict(values)
        self.reads = 0

    def get_secret_value(self, *, SecretId: str, **_version: Any) -> dict[str, Any]:  # noqa: N803
        """The answer of Secrets Manager, the same for all versions."""
        self.reads += 1
        if SecretId not in self.values:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "GetSecretValue")
        return {"SecretString": self.values[SecretId], "ResponseMetadata": {"RequestId": "r"}}
