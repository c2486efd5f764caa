"""GET /users/{userId}/messages: a page of what one user said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core.caller import Caller
from headrace.latencies import timed
from headrace.page_requests import parse_page_request, path_id
from headrace.pages import Page
from headrace.reading import answer_page, user_history


@timed
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the page, newest first."""
    return answer_page(event, user_page)


def user_page(caller: Caller, event: Mapping[str, Any]) -> Page:
    user_id = path_id("userId", event["pathParameters"]["userId"])
    return user_history().user(caller, user_id, parse_page_request(event.get("queryStringParameters")))
