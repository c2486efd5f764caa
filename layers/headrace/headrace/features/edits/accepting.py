"""Builds the gate of edits and deletions."""

from __future__ import annotations

from headrace.features.edits.gate import ChangeGate, ChangeRights
from headrace.services.messages import impatient_message_table
from headrace.services.rooms import impatient_rooms


def gate() -> ChangeGate:
    """Decides who may edit or delete a message."""
    return ChangeGate(ChangeRights(impatient_message_table(), *impatient_rooms()))
