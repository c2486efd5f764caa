"""The model finds every fault of ``mutants``."""

from __future__ import annotations

import pytest
from hypothesis import Phase

from tests.model.machine import Model
from tests.model.mutants import MUTANTS, Mutant
from tests.model.running import run

EXAMPLES = 400


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_model_finds_the_fault(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)

    with pytest.raises(AssertionError, match=MUTANTS[mutant]):
        run(Model, EXAMPLES, phases=[Phase.generate], report_multiple_bugs=False)
