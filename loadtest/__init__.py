"""Sends events to a stage over its public API and checks that none is lost.

===========  ========================================================================================
``client``   target, tokens, WebSocket, a stage as a child process, chat events and frames
``measured`` HDR histograms of latencies, in total and per second
``checker``  compares what was accepted with what can be read back; verdict, latencies
``sending``  delivery by the Python client over HTTP and WebSocket, arrivals, queue depths
``samples``  what happens on the stage during a run: queues, processes, metrics of functions
``chat``     generated conversations, IRC logs and memberships, their replay
``ski``      lift rides and the queries about them
``ads``      ad clicks and the queries about them
``declared`` events of a declared stream, made from its model, and the queries about them
``shapes``   the shapes of load, as data (``catalog``)
``runs``     a run of a shape: Locust's shape of phases, each worker's part, and the merged result
``users``    the Locust users
``report``   the HTML page of a run, and the comparison of two
===========  ========================================================================================

Imports: ``localstage.client`` ← ``client`` ← ``measured`` ← ``checker`` ← ``sending`` ← ``samples`` ←
``chat``, ``ski``, ``ads``, ``declared`` ← ``shapes`` ← ``runs`` ← ``users``, ``report`` ← the commands
``python -m loadtest.demo``, ``python -m loadtest.load`` and ``locust -f loadtest/locustfile.py``.
"""

import sys
from pathlib import Path
from types import TracebackType


def _without_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say in a line that Ctrl-C came during the imports, which take seconds on a busy machine."""
    if issubclass(kind, KeyboardInterrupt):
        print("\nheadrace: interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _without_traceback
_ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT / "clients" / "python"), str(_ROOT / "layers" / "headrace")]
