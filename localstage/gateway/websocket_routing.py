"""Selects the route of a WebSocket message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from localstage.core.errors import TemplateError
from localstage.core.model import WebSocketApi, WebSocketRoute
from localstage.gateway.http_event import encode
from localstage.gateway.throttle import TokenBucket, bucket

CONNECT = "$connect"
DISCONNECT = "$disconnect"
DEFAULT = "$default"
_BODY = "$request.body."


@dataclass(frozen=True)
class MessageRoute:
    """A route for messages, with its key encoded for events, and its throttle."""

    route: WebSocketRoute
    key_json: str
    bucket: TokenBucket | None


class MessageRoutes:
    """Selects routes by a field of the message's body.

    Raises:
        TemplateError: the selection expression is not ``$request.body.FIELD``.
    """

    def __init__(self, api: WebSocketApi) -> None:
        expression = api.selection.replace("{", "").replace("}", "")
        if not expression.startswith(_BODY):
            raise TemplateError(
                f"{api.id}: RouteSelectionExpression {api.selection!r} is not of the form $request.body.action."
            )
        self._field = expression[len(_BODY) :]
        # A message that names $connect or $disconnect must not run those functions.
        messages: Mapping[str, WebSocketRoute] = {
            key: route for key, route in api.routes.items() if key not in (CONNECT, DISCONNECT)
        }
        self._routes = {
            key: MessageRoute(route, encode(key), bucket(route.throttle)) for key, route in messages.items()
        }
        self._default = self._routes.get(DEFAULT)

    def select(self, text: str) -> MessageRoute | None:
        """Return the route for a message; ``None`` if no route matches and there is no ``$default``."""
        try:
            value = json.loads(text)[self._field]
        except (ValueError, TypeError, LookupError, RecursionError):
            return self._default
        if not isinstance(value, str):
            return self._default
        return self._routes.get(value, self._default)
