"""GET /users/{userId}/messages: a page of what one user said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.api.paging.page import Page
from headrace.api.paging.request import parse_page_request, path_id
from headrace.api.statistics import timed
from headrace.core.caller import Caller
from headrace.reading import answer_page, user_history


@timed
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the page, newest first."""
    return answer_page(event, user_page)


def user_page(caller: Caller, event: Mapping[str, Any]) -> Page:
    user_id = path_id("userId", event["pathParameters"]["userId"])
    return user_history().user(caller, user_id, parse_page_request(event.get("queryStringParameters")))
