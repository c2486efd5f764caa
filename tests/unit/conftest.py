"""Unit tests open no sockets, and have a fixed environment."""

from __future__ import annotations

import os
import sys

import pytest
from pytest_socket import disable_socket, enable_socket

from headrace.stage.chosen import CHOSEN
from tests.unit.template_stack import TemplateStack

# Without credentials botocore calls the metadata service of EC2, over a socket.
os.environ["AWS_EC2_METADATA_DISABLED"] = "true"


def pytest_collection_finish(session: pytest.Session) -> None:
    """Without features, nothing may import the modules of one: neither the core, nor tests outside ``features``."""
    found = sorted(name for name in sys.modules if name.startswith("headrace.features.") and name.count(".") > 2)
    if found and not CHOSEN:
        reason = f"all features are left out, and tests or the core import {', '.join(found)}"
        session.shouldfail = f"{reason}: tests of a feature are in tests/unit/features"


def pytest_runtest_setup(item: pytest.Item) -> None:
    disable_socket(allow_unix_socket=True)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    enable_socket()


@pytest.fixture(scope="session")
def template_stack(tmp_path_factory: pytest.TempPathFactory) -> TemplateStack:
    return TemplateStack(tmp_path_factory.mktemp("template"))
