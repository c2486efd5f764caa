"""The HTTP answers about clicks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.analytics.requests import parse_request
from headrace.analytics.scanner import Deadline
from headrace.analytics.windows import Analytics
from headrace.api.paging.request import parse_page_request, path_id
from headrace.core.caller import Caller
from headrace.core.errors import FieldError, InvalidRequest, NotFound, echo
from headrace.streams.ads.counts import stats_body, top_body
from headrace.streams.ads.history import ClickHistory
from headrace.streams.ads.stream import AD_ID_FORM, ADS, ad_id

Body = Mapping[str, Any] | str


class AdsRoutes:
    """Answers requests of one environment: pages come from ``history``, counts from ``analytics``."""

    def __init__(self, history: ClickHistory, analytics: Analytics) -> None:
        self._history = history
        self._analytics = analytics

    def ad_clicks(self, caller: Caller, event: Mapping[str, Any], _deadline: Deadline) -> Body:
        """A page of the clicks on an ad."""
        request = parse_page_request(event.get("queryStringParameters"))
        return self._history.ad(caller, _path_ad(event), request).text()

    def user_clicks(self, caller: Caller, event: Mapping[str, Any], _deadline: Deadline) -> Body:
        """A page of the clicks of a user."""
        user_id = path_id("userId", event["pathParameters"].get("userId"))
        return self._history.user(caller, user_id, parse_page_request(event.get("queryStringParameters"))).text()

    def stats(self, caller: Caller, event: Mapping[str, Any], deadline: Deadline) -> Body:
        """Clicks of an ad by type, and unique users, per step of a window."""
        by = {"adId": _path_ad(event)}
        request = parse_request(ADS, event.get("queryStringParameters"), "step", by=by)
        return stats_body(self._analytics, caller, request, deadline)

    def top(self, caller: Caller, event: Mapping[str, Any], deadline: Deadline) -> Body:
        """The ads with the most clicks of a window."""
        request = parse_request(ADS, event.get("queryStringParameters"), "top", by={})
        return top_body(self._analytics, caller, request, deadline)

    def unknown(self, _caller: Caller, _event: Mapping[str, Any], _deadline: Deadline) -> Body:
        """Refuse a route that there is not."""
        raise NotFound("there is no such route")


Route = Callable[[AdsRoutes, Caller, Mapping[str, Any], Deadline], Body]


def _path_ad(event: Mapping[str, Any]) -> str:
    given = event["pathParameters"].get("adId")
    try:
        return ad_id(given or "")
    except ValueError as error:
        detail = FieldError("adId", str(error), echo(given), AD_ID_FORM)
        raise InvalidRequest("adId is not a usable id", details=[detail]) from None
