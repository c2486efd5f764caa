"""Benchmarks of ``make bench``: each prints the numbers of one table in docs/benchmarks.md."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "layers" / "headrace"), str(ROOT / "clients" / "python")]
