"""The caller of a request, and what the scopes of their token allow."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.core.errors import FieldError, Forbidden, TokenExpired
from headrace.core.times import SECOND

CHAT_WRITE = "chat:write"
CHAT_READ = "chat:read"
EVENTS_WRITE = "events:write"
ANALYTICS_READ = "analytics:read"
OPS = "ops"


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller: ``subject`` is the user id, ``scopes`` have no prefix, ``expires_at`` is in epoch seconds.

    ``address`` is the client's, if it is known. Never log or store it.
    """

    subject: str
    username: str
    scopes: frozenset[str]
    expires_at: int
    address: str = field(default="", repr=False, compare=False)

    def require(self, *scopes: str, now: int) -> None:
        """Check that the token is valid at ``now`` (microseconds) and has one of ``scopes``, if any are named.

        Raises:
            TokenExpired: the token was valid until ``expires_at``.
            Forbidden: it has none of ``scopes``.
        """
        if now >= self.expires_at * SECOND:
            raise TokenExpired("the token has expired; get a new one and connect again")
        if scopes and self.scopes.isdisjoint(scopes):
            wanted = " or ".join(scopes)
            raise Forbidden(
                f"the token does not have the scope {wanted}",
                details=[FieldError("scope", "a scope is missing", " ".join(sorted(self.scopes))[:256], wanted)],
            )

    def has(self, scope: str) -> bool:
        """Whether the token has ``scope``."""
        return scope in self.scopes
