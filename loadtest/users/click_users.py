"""Locust users that send ad clicks, and ask about them."""

from __future__ import annotations

import random
from urllib.parse import quote

from loadtest.ads.clicks import post_clicks
from loadtest.runs.ads_work import AdsWork
from loadtest.runs.phase_run import PhaseRun
from loadtest.sending.arrivals import Arrival
from loadtest.users.posting import Posting
from loadtest.users.stage_user import Asking, last_minutes
from localstage.client.http_api import HttpApi


def ads_of(run: PhaseRun) -> AdsWork:
    """The ads work of ``run``."""
    assert isinstance(run.work, AdsWork)  # noqa: S101 - the catalog gives ads users ads phases only
    return run.work


class ClickSender(Posting):
    """Posts clicks, one or a batch at a time."""

    posts = "clicks"

    def connect(self, run: PhaseRun) -> None:
        """Get a token."""
        self.open(self.target.token_for("load-ads", "events:write"), post_clicks, ads_of(run))

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Post one click or one batch."""
        self.post(run, ads_of(run).clicks(arrival.events), arrival.due)


class ClickReader(Asking):
    """Asks for the counts of an ad, for its newest clicks or those of a user, or for the top ads."""

    question = "questions about ads"

    def ask(self, api: HttpApi, run: PhaseRun) -> None:
        """Ask one of the four."""
        asked, window = ads_of(run).asked, last_minutes()
        ad, user = quote(asked.ad(), safe=""), quote(asked.person(), safe="")
        path, query = random.choice(
            [
                (f"/ads/{ad}/stats", window),
                (f"/ads/{ad}/clicks", {"limit": "50"}),
                (f"/users/{user}/clicks", {"limit": "50"}),
                ("/ads/top", window | {"top": "10"}),
            ]
        )
        api.get(path, query)
