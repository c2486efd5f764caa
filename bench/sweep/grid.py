"""The settings of a sweep, and the edits of the template that give them to a stage."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

UNSET = "unset"
LIMITS = {"batches": (1, 10_000), "windows": (0, 300), "queues": (1, 64), "writers": (1, 64), "receivers": (1, 34)}
FORMS = {name: f"whole numbers from {low} to {high}" for name, (low, high) in LIMITS.items()}
FORMS["windows"] += f", or {UNSET}"
FORMS["queues"] = "1, 2, 4, 8, 16, 32 or 64"
"""What each list of a sweep holds, in the words of an error."""
WIDE = {"batches": "50,200", "windows": f"{UNSET},0,1", "queues": "1,4", "writers": "2,8"}
"""The grid of a sweep without options."""
_BATCHING = "          BatchSize: 200\n          MaximumBatchingWindowInSeconds: 0\n"
_VARIABLE = "          RETRY_FIRST_PAUSE_SECONDS: !Ref RetryFirstPauseSeconds\n"


@dataclass(frozen=True)
class Setting:
    """One point: records of a batch, seconds of its window (None: unset, Lambda's 0.5 s), queues of chat, writers, and
    environments of receive_frame: at most so many, and at most two for each core, as on each local stage.
    """

    batch: int = 200
    window: int | None = 0
    queues: int = 1
    writers: int = 8
    receivers: int = 34

    def edits(self) -> list[tuple[str, str]]:
        """Texts of template.yaml and what replaces them."""
        window = "" if self.window is None else f"          MaximumBatchingWindowInSeconds: {self.window}\n"
        return [
            (_BATCHING, f"          BatchSize: {self.batch}\n{window}"),
            (_VARIABLE, f'{_VARIABLE}          PERSIST_PARALLEL_WRITES: "{self.writers}"\n'),
        ]

    def parameters(self) -> dict[str, str]:
        """The parameters of the template that it sets."""
        return {"ChatQueues": str(self.queues), "ReceiveFrameConcurrency": str(self.receivers)}

    @property
    def row(self) -> str:
        """Its row of the heat map."""
        return f"batch {self.batch}, window {window_text(self.window)}"

    @property
    def column(self) -> str:
        """Its column of the heat map."""
        return f"queues {self.queues}, writers {self.writers}, receivers {self.receivers}"


LOCAL = Setting()
"""The values of the local stage."""


def window_text(window: int | None) -> str:
    """A window as in an option."""
    return UNSET if window is None else str(window)


def grid(options: Mapping[str, str]) -> list[Setting]:
    """Every combination of the lists in ``options``, such as ``{"queues": "1,2,4"}``.

    A list that is missing has the value of the local stage; without any list, the grid is ``WIDE``.

    Raises:
        ValueError: a list holds something else than its form.
    """
    given = {name: text for name, text in options.items() if text} or WIDE
    local = {
        "batches": str(LOCAL.batch),
        "windows": window_text(LOCAL.window),
        "queues": str(LOCAL.queues),
        "writers": str(LOCAL.writers),
        "receivers": str(LOCAL.receivers),
    }
    lists: list[Sequence[int | None]] = [list(_values(name, given.get(name, local[name]))) for name in FORMS]
    return [
        Setting(batch or 1, window, queues or 1, writers or 1, receivers or 1)
        for batch, window, queues, writers, receivers in itertools.product(*lists)
    ]


def _values(name: str, text: str) -> Iterator[int | None]:
    low, high = LIMITS[name]
    for each in dict.fromkeys(part.strip() for part in text.split(",")):
        if name == "windows" and each == UNSET:
            yield None
        elif each.isdecimal() and low <= int(each) <= high and (name != "queues" or int(each).bit_count() == 1):
            yield int(each)
        else:
            raise ValueError(f"{name.upper()} has {FORMS[name]}, not {each!r}")
