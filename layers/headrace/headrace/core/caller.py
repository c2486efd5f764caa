"""Who calls, and what their token lets them do."""

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
    """Who calls: ``subject`` is the user id, ``scopes`` are without prefix, ``expires_at`` is epoch seconds.

    ``address`` is the client's, where it is known: never log it, never keep it.
    """

    subject: str
    username: str
    scopes: frozenset[str]
    expires_at: int
    address: str = field(default="", repr=False, compare=False)

    def require(self, *scopes: str, now: int) -> None:
        """Pass if the token is still good at ``now`` (microseconds) and has one of ``scopes``.

        Raises:
            TokenExpired: it was good until ``expires_at``.
            Forbidden: it has none of ``scopes``.
        """
        self.require_unexpired(now)
        if self.scopes.isdisjoint(scopes):
            wanted = " or ".join(scopes)
            raise Forbidden(
                f"the token does not have the scope {wanted}",
                details=[FieldError("scope", "a scope is missing", " ".join(sorted(self.scopes))[:256], wanted)],
            )

    def require_unexpired(self, now: int) -> None:
        """Pass if the token is still good at ``now`` (microseconds).

        Raises:
            TokenExpired: it was good until ``expires_at``.
        """
        if now >= self.expires_at * SECOND:
            raise TokenExpired("the token has expired; get a new one and connect again")

    def has(self, scope: str) -> bool:
        """Whether the token has ``scope``."""
        return scope in self.scopes
