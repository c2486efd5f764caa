"""The folder of a stage."""

from __future__ import annotations

from pathlib import Path

import pytest

from localstage.core.errors import StageError
from localstage.core.statefile import StateFile


def mode(folder: Path) -> int:
    return folder.stat().st_mode & 0o777


def test_a_folder_that_users_share_is_refused_and_unchanged(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)

    with pytest.raises(StageError, match="is shared by all users"):
        StateFile(tmp_path).make_private()

    assert mode(tmp_path) == 0o777
