"""The answer to a batch fits into one frame."""

from __future__ import annotations

import json

from headrace.api import responses


def test_the_answer_to_an_entirely_invalid_batch_fits_one_frame() -> None:
    details = [
        {"field": f"field{n}", "message": "is wrong", "got": "\U0001f600" * 64, "allowed": "x" * 120} for n in range(7)
    ]
    error = {"code": "invalid_event", "message": "field0 is wrong", "details": details}
    results = [{"messageId": "\U0001f600" * 128, "error": error} for _ in range(100)]

    body = responses.acks("r", results)["body"]

    assert len(body.encode()) <= responses.FRAME_BYTES
    assert len(json.loads(body)["results"]) == 100
