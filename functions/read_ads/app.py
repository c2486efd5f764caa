"""Questions about ad clicks: of an ad, of a user, per step of a window, and which ads have the most."""

from __future__ import annotations

from typing import Any

from headrace.ads.asking import answer_ads
from headrace.api.statistics import timed
from headrace.streams.ads.routes import AdsRoutes

ROUTES = {
    "GET /ads/{adId}/clicks": AdsRoutes.ad_clicks,
    "GET /users/{userId}/clicks": AdsRoutes.user_clicks,
    "GET /ads/{adId}/stats": AdsRoutes.stats,
    "GET /ads/top": AdsRoutes.top,
}


@timed
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer the question; one that cannot be asked is an answer too."""
    route = ROUTES.get(event["routeKey"], AdsRoutes.unknown)
    return answer_ads(event, route, context.get_remaining_time_in_millis() / 1000)
