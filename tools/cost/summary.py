"""Sums of items, and how they compare with the usual design."""

from __future__ import annotations

from dataclasses import dataclass

from tools.cost.model import Item


@dataclass(frozen=True)
class Summary:
    """Dollars per month."""

    items: tuple[Item, ...]

    @property
    def rest(self) -> float:
        """What a stage costs without events."""
        return sum(each.rest for each in self.items)

    @property
    def load(self) -> float:
        """What the load costs in addition."""
        return sum(each.load for each in self.items)

    @property
    def usual(self) -> float:
        """What the load costs in the usual design."""
        return sum(each.usual for each in self.items)

    @property
    def share(self) -> float:
        """The load's cost, as a part of the usual design's."""
        return self.load / self.usual

    @property
    def share_without_dynamodb(self) -> float:
        """All of the load's cost but DynamoDB's, as a part of the usual design's whole cost."""
        return sum(each.load for each in self.items if not each.is_dynamodb) / self.usual

    @property
    def break_even(self) -> float | None:
        """From how many times this load on the stage costs less than the usual design; ``None``: never."""
        saved = self.usual - self.load
        return self.rest / saved if saved > 0 else None

    def lines(self, million: float) -> list[str]:
        """The comparison in words; ``million`` events a month."""
        lines = [
            f"load / usual                   {self.share:.0%}",
            f"load without DynamoDB / usual  {self.share_without_dynamodb:.0%}",
            f"load and rest / usual          {(self.rest + self.load) / self.usual:.0%}",
        ]
        if self.break_even is None:
            return [*lines, "break-even                     none: the load costs more than the usual design's"]
        return [*lines, f"break-even                     {self.break_even * million:,.0f} million events a month"]
