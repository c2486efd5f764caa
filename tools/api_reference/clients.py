"""Which method of each client, and which command, has an operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tools.api_reference.texts import table
from tools.python_client.operations import snake

Node = Mapping[str, Any]
COMMANDS: dict[str, str] = table("commands")
"""The operations of the HTTP API that each command asks."""
NO_COMMAND: dict[str, str] = table("without_command")
"""Why operations have no command."""
SENDERS: dict[str, str] = table("senders")
"""What both clients call for these, to send until each event is accepted, and for files."""


class Frame(NamedTuple):
    """What has an action, or a frame that is pushed."""

    python: str
    typescript: str
    command: str = ""


FRAMES = {name: Frame(**has) for name, has in table("frames").items()}


def rows(http: Node, tag: str) -> Iterator[tuple[str, ...]]:
    """The operations of the HTTP API with a tag."""
    commands = {each: name for name, asked in COMMANDS.items() for each in asked.split()}
    for path, methods in http["paths"].items():
        for method, each in methods.items():
            name = each["operationId"]
            if tag in each["tags"]:
                more = [SENDERS[name]] if name in SENDERS else ["items"] * _is_list(http, each)
                yield (
                    f"`{method.upper()} {path}`",
                    ", ".join(f"`{each}`" for each in [snake(name), *more]),
                    f"`headrace {commands[name]}`" if name in commands else "",
                )


def frames(websocket: Node) -> Iterator[tuple[str, ...]]:
    """The frames of the WebSocket API."""
    for name, each in websocket["operations"].items():
        if each["channel"]["$ref"] == "#/channels/connection":
            has = FRAMES[name]
            sent = f"`{name}`" if "reply" in each else f"`{each['messages'][0]['$ref'].rpartition('/')[2]}`, pushed"
            command = f"`headrace {has.command}`" if has.command else ""
            yield (sent, f"`{has.python}`", f"`{has.typescript}`", command)


def _is_list(http: Node, operation: Node) -> bool:
    """Whether the answer is a page with a cursor to the next one."""
    schema = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
    named = http["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], schema)
    return "items" in named.get("properties", {}) and "next" in named["properties"]
