"""Builds what deletes the files of messages."""

from __future__ import annotations

import functools

from headrace.services.rooms import rooms
from headrace.services.shared import attachments, clock
from headrace.streams.chat.attachments.tidier import AttachmentTidier


@functools.cache
def attachment_tidier() -> AttachmentTidier:
    """Deletes the files of messages that have expired."""
    return AttachmentTidier(attachments(), rooms().retentions, clock())
