"""Commands for operators of a stage: dead letters, parked messages, the retry budget."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clients" / "python"))  # headrace_client
