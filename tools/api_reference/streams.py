"""``python -m tools.api_reference.streams``: writes the OpenAPI document of a stage with declared streams.

The variable ``STREAMS_FOLDER`` names their folder. The document has the routes of all stages, and those of each stream.
"""

from __future__ import annotations

import json
from pathlib import Path

from headrace.features.declared.folder import events
from headrace.features.declared.openapi import document
from tools.api_reference.openapi import openapi
from tools.api_reference.routes import ROOT

FILE = ROOT / ".local" / "openapi.json"


def write(file: Path = FILE) -> Path:
    """Write the document to ``file``; return it."""
    found = openapi()
    for each in map(document, events().values()):
        found["paths"] |= each["paths"]
        found["components"]["schemas"] |= each["components"]["schemas"]
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    return file


if __name__ == "__main__":
    print(write())
