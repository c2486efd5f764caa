"""The HTTP answers about dead letters: what is dead and why, redrive and discard. Scope ``ops``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.api.bodies import http_body
from headrace.core.errors import NotFound
from headrace.core.times import Clock
from headrace.operations.dead_letter import SHOWN_CHARACTERS
from headrace.operations.dead_letter_requests import continuation, discard_request, list_request, redrive_request
from headrace.operations.dead_letters import DeadLetters, ScanResult, discard_limit
from headrace.operators import OperatorRoutes
from headrace.runtime.observability import Meter

ANSWER_CHARACTERS = 3_000_000
"""Characters of bodies in one answer: Lambda takes 6 MB, and a character may become two bytes and more."""


class DeadLetterRoutes(OperatorRoutes):
    """Answers requests of one environment."""

    complaint = "dead letters could not be managed"

    def __init__(self, letters: DeadLetters, clock: Clock, scope_prefix: str) -> None:
        super().__init__(clock, scope_prefix)
        self._letters = letters

    def list(self, event: Mapping[str, Any], _meter: Meter) -> dict[str, Any]:
        """Some of the letters that are meant, and counts of all that were looked at."""
        request = list_request(event.get("queryStringParameters"))
        look = self._letters.look(request.wanted)
        # Asked for by its id, a letter is shown whole.
        characters = ANSWER_CHARACTERS if request.wanted.id is not None else SHOWN_CHARACTERS
        items = [letter.to_body(characters) for letter in look.letters[: request.limit]]
        return {"items": items, **_counts(look)}

    def redrive(self, event: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        """Move letters back for one slice; ``continuation`` goes on, and is null when none is left."""
        request = redrive_request(http_body(event))
        if request.dry_run:
            return {"dryRun": True, **_counts(self._letters.look(request.wanted))}
        progress = request.progress or self._letters.start(request.wanted, request.rate)
        progress = self._letters.redrive(progress, meter)
        return {
            "startedAt": progress.started_at,
            "moved": progress.moved,
            "failed": progress.failed,
            "done": progress.done,
            "continuation": continuation(progress),
        }

    def discard(self, event: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        """Throw letters away, if their number is confirmed."""
        request = discard_request(http_body(event))
        if request.dry_run:
            return {"dryRun": True, **_counts(self._letters.look(request.wanted, discard_limit(request.rate)))}
        look, gone = self._letters.discard(request.wanted, request.rate, request.confirm, meter)
        return {"discarded": gone, "failed": len(look.letters) - gone, **_counts(look)}

    def unknown(self, _event: Mapping[str, Any], _meter: Meter) -> dict[str, Any]:
        """Refuse a route that there is not."""
        raise NotFound("there is no such route")


def _counts(look: ScanResult) -> dict[str, Any]:
    return {
        "count": len(look.letters),
        "scanned": look.scanned,
        "complete": look.complete,
        "reasons": look.reasons,
    }
