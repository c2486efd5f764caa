"""How many different texts there were, roughly, in 16 KB however many: HyperLogLog.

Heule, Nunkesser, Hall: "HyperLogLog in Practice" (2013), with linear counting for few texts. Hashes have 64 bits, and
estimates are only asked for above 5 texts for each register, where the raw estimate needs no correction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from hashlib import blake2b

_BITS = 14
REGISTERS = 1 << _BITS
_REST = 64 - _BITS
_ALPHA = 0.7213 / (1 + 1.079 / REGISTERS)
STANDARD_ERROR = 1.04 / REGISTERS**0.5
"""0.0081: two estimates of three are within it."""


class HyperLogLog:
    """A sketch of a set of texts; sketches merge as sets do."""

    __slots__ = ("registers",)

    def __init__(self, registers: bytes | None = None) -> None:
        self.registers = bytearray(registers) if registers is not None else bytearray(REGISTERS)

    def add(self, texts: Iterable[str]) -> None:
        """Add ``texts``; those that are in it change nothing."""
        registers = self.registers
        for text in texts:
            value = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
            place = value >> _REST
            rank = _REST - (value & ((1 << _REST) - 1)).bit_length() + 1
            if rank > registers[place]:
                registers[place] = rank

    def merge(self, other: HyperLogLog) -> None:
        """Add all that ``other`` holds."""
        self.registers = bytearray(map(max, self.registers, other.registers))

    def estimate(self) -> int:
        """How many different texts were added, within ``STANDARD_ERROR`` two times of three."""
        raw = _ALPHA * REGISTERS * REGISTERS / sum(2.0**-rank for rank in self.registers)
        empty = self.registers.count(0)
        few = raw <= 2.5 * REGISTERS and empty
        return round(REGISTERS * math.log(REGISTERS / empty) if few else raw)
