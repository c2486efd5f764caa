"""The project folder of a test's template."""

from __future__ import annotations

import pytest

from tests.unit.localstage.template.template_stage import Project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)
