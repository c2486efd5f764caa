"""Fixtures of the tests of provisioning."""

import pytest

from tests.contract.localstage.template.provision_harness import Emulator


@pytest.fixture
def emulator():
    emulator = Emulator()
    yield emulator
    emulator.close()
