import pytest
from provision_harness import Emulator


@pytest.fixture
def emulator():
    emulator = Emulator()
    yield emulator
    emulator.close()
