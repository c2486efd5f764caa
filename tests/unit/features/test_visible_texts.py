"""Each text that people see, of the core and of every feature, is one that can be seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from headrace.core.fields import EventModel
from headrace.declare import Event
from tools.api_reference import routes

KNOWN = {"room_id", "user_id", "member_id", "created_by", "stream", "key", "id", "confirm"}
"""Fields that name what is there already, which older versions may have accepted."""
ANY_TEXT = {"message", "data", "token", "wait_time"}
"""Fields that may have any text, and those that are not shown."""


def models(base: type[BaseModel] = EventModel) -> Iterator[type[BaseModel]]:
    """The models of what clients send: bodies, frames, and events with what is in them."""
    for model in set(base.__subclasses__()) - {Event}:  # without those of declared streams
        yield from models(model)
        if model.model_config.get("extra") == "forbid" and not model.__name__.startswith("Stamped"):
            yield model


def takes(field: FieldInfo, value: str) -> bool:
    try:
        TypeAdapter(Annotated[field.annotation, *field.metadata, None]).validate_python(value)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("value", ["a\u202eb", "\u200b"])
def test_each_text_that_people_see_has_to_be_visible(value: str) -> None:
    bodies = [each.route.body for each in routes.declared() if each.route.body is not None]
    fields = [(name, field) for model in [*bodies, *models()] for name, field in model.model_fields.items()]

    assert {name for name, field in fields if takes(field, value)} == KNOWN | ANY_TEXT
    assert {"name", "topic", "username", "message_id", "value", "resort_name"} <= {name for name, _ in fields}
