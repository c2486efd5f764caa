"""A file that is not the result of a load run is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadtest.report.document import read
from localstage.client.errors import ClientError


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "this is not the result of a load run"),
        ("[]", "this is not the result of a load run"),
        ('{"run": "x", "shape": {}, "phases": []}', "this result has format 1, not 2"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_expected(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)

    with pytest.raises(ClientError, match=sentence):
        read(path)
