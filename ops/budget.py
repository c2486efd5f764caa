"""The retry budget of a stage: the outage that leaves the dead lane empty."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headrace import retry_budget
from localstage.template import parameters
from localstage.template.document import parse

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Budget:
    """What the retry lane does with a record, by the parameters of a stage."""

    first_pause: int
    visibility: int

    @classmethod
    def of_stage(cls, config_env: str, first_pause: int | None = None) -> Budget:
        """By the template's defaults and a section of ``samconfig.toml``; ``first_pause`` goes before both.

        Raises:
            localstage.errors.TemplateError: one of the files cannot be read.
        """
        template = ROOT / "template.yaml"
        declared = parse(template.read_text(encoding="utf-8"), template)["Parameters"]
        overrides = parameters.from_samconfig(ROOT / "samconfig.toml", config_env)
        found = parameters.values(declared, overrides)
        return cls(first_pause or int(found["RetryFirstPauseSeconds"]), int(found["RetryVisibilitySeconds"]))

    @property
    def pauses(self) -> str:
        """The pauses between the tries, as a sum."""
        return " + ".join(str(pause) for pause in retry_budget.pauses(self.first_pause)) + " s"

    @property
    def total(self) -> str:
        """The budget, in seconds and minutes."""
        seconds = retry_budget.budget_seconds(self.first_pause)
        return f"{seconds} s ({seconds / 60:.1f} minutes)"

    def lines(self) -> list[str]:
        """The budget for people."""
        return [
            f"tries          {retry_budget.RECEIVES}, then SQS moves the record to the dead lane",
            f"pauses         {self.pauses}",
            f"retry budget   {self.total}: a shorter outage leaves the dead lane empty",
            f"after a crash  {self.visibility} s, in place of the pause that the function could not ask for",
        ]
