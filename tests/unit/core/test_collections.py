"""A dict with a fixed capacity."""

from __future__ import annotations

from headrace.core.collections import BoundedDict


def filled(limit: int, *keys: str) -> BoundedDict[str, int]:
    entries: BoundedDict[str, int] = BoundedDict(limit)
    for number, key in enumerate(keys):
        entries[key] = number
    return entries


def test_the_entry_that_was_set_first_is_dropped_at_the_limit() -> None:
    assert dict(filled(2, "a", "b", "c")) == {"b": 1, "c": 2}


def test_setting_an_entry_again_renews_it_and_drops_none() -> None:
    assert dict(filled(2, "a", "b", "a")) == {"b": 1, "a": 2}
    assert dict(filled(2, "a", "b", "a", "c")) == {"a": 2, "c": 3}


def test_update_and_setdefault_respect_the_limit() -> None:
    entries = filled(2, "a")

    entries.update(b=1, c=2)
    entries.setdefault("d", 3)

    assert dict(entries) == {"c": 2, "d": 3}
