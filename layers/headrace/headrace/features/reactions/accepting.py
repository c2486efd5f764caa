"""Builds the gate of reactions."""

from __future__ import annotations

from headrace.features.edits.gate import ChangeGate
from headrace.features.reactions.gate import ReactionRights
from headrace.services.messages import impatient_message_table
from headrace.services.rooms import impatient_rooms


def gate() -> ChangeGate:
    """Decides who may react to a message."""
    return ChangeGate(ReactionRights(impatient_message_table(), *impatient_rooms()))
