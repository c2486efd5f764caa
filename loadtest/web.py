"""What ``WEB=1`` adds to Locust's web UI: the address in the terminal, the host, and a tab with the verdict."""

from __future__ import annotations

import json
from typing import Any

from flask import Response, request
from locust.env import Environment

KEY = "verdict"
STATISTICS = "/stats/requests"
"""What the page asks for every two seconds while a run is on, and once more at its end."""


class VerdictTab:
    """A tab with the lines of the last run's result."""

    def __init__(self, environment: Environment, http_url: str) -> None:
        environment.host = http_url  # otherwise the page asks for one
        self.lines: list[str] = []
        web_ui: Any = environment.web_ui
        table = {"key": KEY, "structure": [{"key": "line", "title": "The last run"}]}
        web_ui.template_args |= {"extended_tabs": [{"title": "Verdict", "key": KEY}], "extended_tables": [table]}
        web_ui.app.after_request(self._add)
        self.address = f"http://{web_ui.host or '127.0.0.1'}:{web_ui.port}"

    def _add(self, response: Response) -> Response:
        if request.path == STATISTICS and isinstance(response.json, dict):
            lines = self.lines or ["No run has ended yet."]
            table = {"key": KEY, "data": [{"line": line} for line in lines]}
            response.set_data(json.dumps({**response.json, "extended_stats": [table]}))
        return response
