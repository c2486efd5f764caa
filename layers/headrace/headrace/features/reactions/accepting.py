"""Builds the gate of reactions."""

from __future__ import annotations

from headrace.features.edits import accepting
from headrace.features.edits.gate import ChangeGate
from headrace.features.reactions.gate import ReactionRights


def gate() -> ChangeGate:
    """Decides who may react to a message."""
    return accepting.gate(ReactionRights)
