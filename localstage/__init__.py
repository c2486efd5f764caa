"""The local stage: runs ``template.yaml`` whole on one machine, without AWS and without Docker."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clients" / "python"))  # headrace_client
