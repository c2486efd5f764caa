"""Builds the gates of changes of messages."""

from __future__ import annotations

from headrace.features.edits.gate import ChangeGate, ChangeRights
from headrace.services.messages import impatient_message_table
from headrace.services.rooms import impatient_rooms


def gate(rights: type[ChangeRights] = ChangeRights) -> ChangeGate:
    """Decides who may make a change; by default who may edit or delete a message."""
    return ChangeGate(rights(impatient_message_table(), *impatient_rooms()))
