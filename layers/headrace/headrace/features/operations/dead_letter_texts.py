"""Shows the bodies of dead letters without what was taken back.

A record in a queue cannot be changed. So a message that died before it was stored, and was deleted afterwards, keeps
its text in the dead lane until it is redriven or discarded. What shows it must leave the text out.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from headrace.core.json import encode_ascii
from headrace.core.stream import EventScreen, Hidden
from headrace.features.operations.dead_letter import DeadLetter, DeadLetterBody
from headrace.queues.sqs import BASE64, ENCODING


def with_bodies(
    letters: Sequence[DeadLetter], characters: int, screens: Mapping[str, EventScreen]
) -> list[DeadLetterBody]:
    """The letters as an answer shows them, with at most ``characters`` of each body; ``screens`` are by stream name."""
    hidden: dict[tuple[str, int], Hidden] = {}
    for stream, screen in screens.items():
        places = [
            (letter.held.id, index, event)
            for letter in letters
            if letter.stream == stream and isinstance(letter.envelope.get("events"), list)
            for index, event in enumerate(letter.envelope["events"])
        ]
        found = screen([event for *_, event in places])
        hidden |= {places[number][:2]: each for number, each in found.items()}
    return [_shown(letter, characters, hidden) for letter in letters]


def _shown(letter: DeadLetter, characters: int, hidden: Mapping[tuple[str, int], Hidden]) -> DeadLetterBody:
    own = {index: each for (letter_id, index), each in hidden.items() if letter_id == letter.held.id}
    shown = letter.to_body()
    if not own:
        shown["body"] = letter.held.body[:characters]
        return shown
    shown["body"] = _without(letter, own)[:characters]
    deleted = sum(each.is_known for each in own.values())
    shown["textsWithheld"] = {"deleted": deleted, "unchecked": len(own) - deleted}
    return shown


def _without(letter: DeadLetter, hidden: Mapping[int, Hidden]) -> str:
    """The body of a letter with the ``hidden`` events replaced, encoded as it is in the queue."""
    events = list(letter.envelope["events"])
    for index, each in hidden.items():
        events[index] = each.event
    try:
        text = encode_ascii({**letter.envelope, "events": events})
    except (RecursionError, ValueError):  # a record from elsewhere
        return ""
    is_encoded = letter.held.attributes.get(ENCODING) == BASE64
    return base64.b64encode(text.encode()).decode() if is_encoded else text
