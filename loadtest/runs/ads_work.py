"""The clicks of one phase, and all questions about them."""

from __future__ import annotations

import random
import time
from urllib.parse import quote

from headrace.core import times
from loadtest.ads.clicks import USERS, Campaign, Click, ad_of, click_of, post_clicks, user_of
from loadtest.ads.queries import AdsQueries
from loadtest.client.credentials import Sender
from loadtest.runs.posted_work import PostedWork
from localstage.client.http_api import HttpApi


class AdsWork(PostedWork[Click]):
    """One worker's clicks: its own campaign of ads and users."""

    user = "load-ads"
    request = staticmethod(post_clicks)

    def _prepare(self) -> None:
        self._name = self._place.unique
        self._made = 0
        self._chance = random.Random(self._name)
        # Questions ask for the clicks of the phase before them.
        before: AdsWork | None = self._before
        self.asked: AdsWork = before.asked if before is not None and not before._made else before or self

    def make(self, _sender: Sender, _number: int, count: int) -> list[Click]:
        """``count`` new clicks with the current time, a microsecond apart."""
        at = time.time_ns() // 1000
        first, self._made = self._made, self._made + count
        return [click_of(self._name, first + index, at - count + index, self._chance) for index in range(count)]

    def ad(self) -> str:
        """An ad to ask for."""
        return ad_of(self._name, random.random())

    def person(self) -> str:
        """A user to ask for."""
        return user_of(self._name, random.randrange(USERS))

    def _queries(self, api: HttpApi) -> AdsQueries:
        return AdsQueries(api, Campaign(self._name, tuple(self.all_accepted)))

    def _is_readable(self, api: HttpApi, event: Click) -> bool:
        window = {"from": times.iso(event.at), "to": times.iso(event.at + 1)}
        page = api.get(f"/ads/{quote(event.ad, safe='')}/clicks", window)
        return any(each["clickId"] == event.click_id for each in page["items"])
