"""The largest costs of a profile, from the stacks that py-spy counted."""

from __future__ import annotations

from pathlib import Path

from bench.profile.__main__ import largest

STACKS = """\
main (bench/profile/profiled.py:140);profiled (bench/profile/profiled.py:118);import_module (headrace/c.py:7) 40
repeat (bench/profile/profiled.py:130);messages (bench/profile/profiled.py:60) 50
repeat (bench/profile/profiled.py:131);profiled (bench/profile/profiled.py:118);read (headrace/a.py:7);loads (json/__init__.py:3) 6
repeat (bench/profile/profiled.py:131);profiled (bench/profile/profiled.py:118);read (headrace/a.py:9) 2
repeat (bench/profile/profiled.py:131);profiled (bench/profile/profiled.py:118);read (headrace/a.py:9);sign (headrace/b.py:1) 1
_bootstrap (threading.py:1);run (concurrent/futures/thread.py:58);_WorkItem.run (thread.py:58);sign (headrace/b.py:2) 1
"""  # noqa: E501


def test_costs_are_shares_of_the_handler_by_its_last_own_function(tmp_path: Path) -> None:
    """What the benchmark itself does is left out; what a library does counts for its caller."""
    path = tmp_path / "stacks.txt"
    path.write_text(STACKS)

    assert largest(path) == [("read (headrace/a.py)", 0.8), ("sign (headrace/b.py)", 0.2)]
