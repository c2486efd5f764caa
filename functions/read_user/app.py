"""GET /users/{userId}/messages: a page of what one user said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.auth import Caller
from headrace.history import History, parse_page_request, path_id
from headrace.reading import answer_page


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the page, newest first."""
    return answer_page(event, user_page)


def user_page(history: History, caller: Caller, event: Mapping[str, Any]) -> dict[str, Any]:
    user_id = path_id("userId", event["pathParameters"]["userId"])
    return history.user_page(caller, user_id, parse_page_request(event.get("queryStringParameters")))
