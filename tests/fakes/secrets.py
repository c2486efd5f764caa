"""Secrets in memory, for tests."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.aws.secrets import Secrets
from headrace.core.errors import SecretsUnavailable


class MemorySecrets(Secrets):
    """Secrets in the dict ``values``; ``reads`` counts uncached reads."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__()
        self.values = dict(values)
        self.reads = 0

    def _read(self, arn: str, stage: str = "AWSCURRENT") -> str:
        self.reads += 1
        if arn not in self.values:
            raise SecretsUnavailable("the secret could not be read")
        return self.values[arn]
