"""What a stage has of declared streams. One without any loads none of the rest, which takes 11 ms of CPU."""

from __future__ import annotations

from functools import partial

from pydantic import Field

from headrace.core.stream import Hook, Stream, built_later
from headrace.runtime.setting_forms import Settings


class StreamsSettings(Settings):
    """Where the declared streams are."""

    streams_folder: str = Field(default="", description="a folder with a Python file for each stream")
    """Folder of the declared streams; empty for none."""


def streams() -> list[Stream]:
    """The declared streams of the stage."""
    if not StreamsSettings.read().streams_folder:
        return []
    from headrace.features.declared.folder import events

    return [each.stream for each in events().values()]


def after() -> list[tuple[str, Hook]]:
    return [(each.name, built_later(partial(_live_hook, each.name))) for each in streams()]


def _live_hook(name: str) -> Hook:
    from headrace.features.declared.live import hook

    return hook(name)
