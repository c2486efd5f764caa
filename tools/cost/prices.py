"""The prices of ``prices.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("prices.toml")
MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """``dollars`` for what ``per`` says; ``unit`` is the price of one."""

    dollars: float
    per: str
    source: str
    confirmed: bool = True

    @property
    def unit(self) -> float:
        """Dollars for one request, unit, hour or GB."""
        return self.dollars / MILLION if self.per.startswith("million") else self.dollars


@dataclass(frozen=True)
class Prices:
    """Prices by name, of one region at one date."""

    date: str
    region: str
    named: dict[str, Price]
    used: set[str]

    def __call__(self, name: str) -> float:
        """The price of one unit."""
        self.used.add(name)
        return self.named[name].unit

    @property
    def unconfirmed(self) -> list[str]:
        """The names of prices in use that are not confirmed."""
        return sorted(name for name in self.used if not self.named[name].confirmed)


def read() -> Prices:
    """Read the file."""
    content = tomllib.loads(FILE.read_text(encoding="utf-8"))
    named = {name: Price(**value) for name, value in content.items() if isinstance(value, dict)}
    return Prices(content["date"], content["region"], named, set())
