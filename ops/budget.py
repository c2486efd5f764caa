"""The retry budget of a stage: the outage that leaves the dead lane empty."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headrace.delivery import retry_schedule
from headrace.runtime.breaker import BreakerRule
from localstage.core.errors import TemplateError
from localstage.template import parameters
from localstage.template.document import parse

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Budget:
    """The schedule of the retry lane for the parameters of a stage; times are in seconds."""

    first_pause: int
    visibility: int
    probe_seconds: float

    @classmethod
    def of_stage(cls, config_env: str, first_pause: int | None = None) -> Budget:
        """Read the template's values and a section of ``samconfig.toml``; ``first_pause`` overrides both.

        Raises:
            localstage.core.errors.TemplateError: one of the files cannot be read, or it has no such section.
        """
        sections = parameters.sections(ROOT / "samconfig.toml")
        if config_env not in sections:
            raise TemplateError(f"samconfig.toml has no stage {config_env}; it has {', '.join(sections)}")
        template = ROOT / "template.yaml"
        document = parse(template.read_text(encoding="utf-8"), template)
        overrides = parameters.from_samconfig(ROOT / "samconfig.toml", config_env)
        found = parameters.values(document["Parameters"], overrides)
        return cls(
            first_pause or int(found["RetryFirstPauseSeconds"]),
            int(document["Resources"]["RetryQueue"]["Properties"]["VisibilityTimeout"]),
            BreakerRule().probe_seconds,
        )

    @property
    def pauses(self) -> str:
        """The pauses between the tries, such as ``15 + 60 + 240 + 900 s``."""
        return " + ".join(str(pause) for pause in retry_schedule.pauses(self.first_pause)) + " s"

    @property
    def total(self) -> str:
        """The budget, in seconds and minutes: from a record's first try to its last."""
        return _duration(retry_schedule.budget_seconds(self.first_pause))

    @property
    def outage(self) -> str:
        """The outage that leaves the dead lane empty: the breaker is closed again before the last try."""
        return _duration(retry_schedule.outage_seconds(self.first_pause, self.probe_seconds))

    def lines(self) -> list[str]:
        """The lines that the command prints."""
        return [
            f"tries          {retry_schedule.RECEIVES}, then SQS moves the record to the dead lane",
            f"pauses         {self.pauses}",
            f"retry budget   {self.total}, from the first try to the last",
            f"breaker        may stay open for {self.probe_seconds:g} s after the outage",
            f"outage         shorter than {self.outage}: the dead lane stays empty",
            f"after a crash  {self.visibility} s (the visibility timeout) instead of the pause",
        ]


def _duration(seconds: float) -> str:
    return f"{seconds:g} s ({seconds / 60:.1f} minutes)"
