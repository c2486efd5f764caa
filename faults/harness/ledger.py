"""The result of a fault scenario: what was accepted, where it is, and whether anything is missing (P4)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from faults.harness.lanes import DeadLetter, Depths
from loadtest.checker.checker import Checker


@dataclass(frozen=True)
class Row:
    """One line of the table, as a load finds it; the scenario adds its name, and what the stage did.

    ``refused`` counts 503 results; a scenario without ``problems`` is good.
    """

    accepted: int
    stored: int
    lost: int
    unexpected: int
    refused: int
    duplicated: int = 0
    problems: Sequence[str] = ()
    note: str = ""
    scenario: str = ""
    seconds: float = 0.0
    retried: int = 0
    dead: int = 0

    @property
    def good(self) -> bool:
        """Whether every promise was kept."""
        return not self.problems


def wrong_in_queues(dead: Sequence[DeadLetter], expected_dead: Mapping[bytes, str], depths: Depths) -> list[str]:
    """Dead letters that are not as expected, and queues that are not drained after a scenario.

    ``expected_dead`` maps a text in the body of each expected dead letter to its reason, or to an empty string if no
    reason is known.
    """
    found = []
    surplus = [letter for letter in dead if not any(text in letter.body for text in expected_dead)]
    absent = [text for text in expected_dead if not any(text in letter.body for letter in dead)]
    for letter in dead:
        expected = next((reason for text, reason in expected_dead.items() if text in letter.body), "")
        if expected and letter.reason and expected != letter.reason:
            found.append(f"dead for {letter.reason} instead of {expected}")
    if surplus:
        found.append(f"{len(surplus)} unexpected dead letters: {surplus[0].reason} {surplus[0].body[:120]!r}")
    if absent:
        found.append(f"{len(absent)} poison records are not dead: {absent[:3]}")
    if len(dead) > len(expected_dead) and not surplus:
        found.append(f"{len(dead)} dead letters of {len(expected_dead)} expected")
    if depths.moving or depths.parking:
        found.append(f"not drained: {depths}")
    return found


def wrong_at_watchers(counts: Mapping[str, int], wanted: int, most_again: float = math.inf) -> list[str]:
    """What is wrong with the counts of watchers, for whom ``wanted`` deliveries were accepted.

    ``most_again`` is the share of the deliveries that may be pushed, and fetched, once more.
    """
    once = counts["pushed"] - counts["pushedAgain"]
    judged = {
        f"{counts['missing']} messages are missing at the watchers after the next frame": counts["missing"] > 0,
        f"{counts['repeated']} messages came to a watcher twice": counts["repeated"] > 0,
        f"{counts['pushed']} pushes for {once} deliveries": counts["pushedAgain"] > most_again * once,
        f"{counts['fetchedAgain']} of {wanted} deliveries fetched again": counts["fetchedAgain"] > most_again * wanted,
    }
    return [sentence for sentence, is_wrong in judged.items() if is_wrong]


def reconcile(checker: Checker, dead: Sequence[DeadLetter] = ()) -> Row:
    """Compare what was accepted with what was read back.

    An accepted event in the dead lane is not lost, but it must be expected there.
    """
    verdict = checker.verdict()
    lost = {key for events in checker.missing().values() for key in events} - _ids(dead)
    problems = [f"lost {len(lost)}: {sorted(lost)[:3]}"] if lost else []
    for kind in ("unexpected", "duplicated", "disordered"):
        if count := getattr(verdict, kind):
            problems.append(f"{kind} {count}: {verdict.examples.get(kind, verdict.examples.get('altered', ()))}")
    refused = checker.retries["unavailable"]
    return Row(verdict.accepted, verdict.stored, len(lost), verdict.unexpected, refused, verdict.duplicated, problems)


def _ids(dead: Sequence[DeadLetter]) -> set[str]:
    ids: set[str] = set()
    for letter in dead:
        try:
            ids.update(str(event["messageId"]) for event in json.loads(letter.body)["events"])
        except (ValueError, KeyError, TypeError):
            continue
    return ids
