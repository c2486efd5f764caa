"""GET /rooms/{roomId}/messages: a page of one room's history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.api.paging.page import Page
from headrace.api.paging.request import parse_page_request, path_id
from headrace.api.statistics import timed
from headrace.core.caller import Caller
from headrace.reading import answer_page, room_history


@timed
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the page, newest first."""
    return answer_page(event, room_page)


def room_page(caller: Caller, event: Mapping[str, Any]) -> Page:
    room_id = path_id("roomId", event["pathParameters"]["roomId"])
    return room_history().room(caller, room_id, parse_page_request(event.get("queryStringParameters")))
