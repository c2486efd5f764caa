"""The HTTP answers about dead letters: what is dead and why, redrive and discard. Scope ``ops``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace import answers
from headrace.auth import OPS, caller_from_http
from headrace.bodies import http_body
from headrace.dead_lane.letters import SHOWN_CHARACTERS
from headrace.dead_letters import DeadLetters, Look, discard_limit
from headrace.dead_requests import continuation, discard_request, list_request, redrive_request
from headrace.errors import HeadraceError, NotFound
from headrace.observe import Meter, report, report_unexpected
from headrace.times import Clock

ANSWER_CHARACTERS = 3_000_000
"""Characters of bodies in one answer: Lambda takes 6 MB, and a character may become two bytes and more."""


class DeadRoutes:
    """Answers requests of one environment."""

    def __init__(self, letters: DeadLetters, clock: Clock, scope_prefix: str) -> None:
        self._letters = letters
        self._clock = clock
        self._scope_prefix = scope_prefix

    def answer(self, event: Mapping[str, Any], route: Route) -> dict[str, Any]:
        """The answer to an HTTP API event: ``route``'s, or the error that stopped it. Never raises."""
        meter = Meter()
        try:
            caller = caller_from_http(event, self._scope_prefix)
            caller.require(OPS, now=self._clock.now())
            return answers.http(200, route(self, event, meter))
        except HeadraceError as error:
            answer = answers.http_error(error)
            if answer["statusCode"] >= 500:
                report(type(error).__name__, f"dead letters could not be managed: {error.message}", level="error")
            return answer
        except Exception as error:  # noqa: BLE001 - reported, and answered as an error
            report_unexpected(error)
            return answers.http_error(error)
        finally:
            meter.flush()

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


Route = Callable[[DeadRoutes, Mapping[str, Any], Meter], dict[str, Any]]


def _counts(look: Look) -> dict[str, Any]:
    return {
        "count": len(look.letters),
        "scanned": look.scanned,
        "complete": look.complete,
        "reasons": look.reasons,
    }
