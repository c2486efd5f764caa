"""``python -m tools.api_reference``: writes the documents and their pages to ``docs/reference``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.api_reference.asyncapi import asyncapi
from tools.api_reference.openapi import openapi
from tools.api_reference.pages import clients_page, http_page, scopes_page, websocket_page
from tools.api_reference.routes import ROOT

FOLDER = ROOT / "docs" / "reference"


def generated() -> dict[Path, str]:
    """The text of every file of the reference that comes from the routes."""
    http, websocket = openapi(), asyncapi()
    return {
        FOLDER / "openapi.json": _json(http),
        FOLDER / "asyncapi.json": _json(websocket),
        FOLDER / "http-api.md": http_page(http),
        FOLDER / "websocket-api.md": websocket_page(websocket),
        FOLDER / "scopes.md": scopes_page(),
        FOLDER / "clients.md": clients_page(http, websocket),
    }


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text)
