"""The schemas of what sends events: the requests, one result for each event, and the errors of both protocols."""

from __future__ import annotations

from collections.abc import Iterable

import yaml

from headrace.core.fields import AcceptedLane
from headrace.core.times import is_canonical
from tools.api_reference.examples import event_of, examples_of, receipt_of
from tools.api_reference.names import event_name
from tools.api_reference.routes import Declared, error_kinds, mapping
from tools.api_reference.schemas import REF, Models, Schema, schema_of
from tools.api_reference.texts import FOLDER


def ref(name: str) -> Schema:
    """A reference to a schema of the document."""
    return {"$ref": f"{REF}{name}"}


def request(route: Declared) -> Schema:
    """A reference to the schema of an HTTP body with events."""
    return ref(f"{event_name(route)}{'Batch' if route.route.batch else 'Body'}")


def http_schemas(routes: Iterable[Declared], models: Models) -> dict[str, Schema]:
    """The schemas of the HTTP routes that take events."""
    found: dict[str, Schema] = {}
    for route in (each for each in routes if each.route.stream is not None):
        name = event_name(route)
        found |= result_schemas(route) | _schemas(name)[1]
        if route.route.batch:
            found[f"{name}Batch"] = batch_schema(route, models)
        else:
            event = models.resolved(route.key, "event")
            needed = [each for each in event["required"] if each not in route.path_names]
            found[f"{name}Body"] = {**event, "required": needed}
    return found


def batch_schema(route: Declared, models: Models) -> Schema:
    """The schema of an object with a list of events."""
    events = {"type": "array", "items": models.schema(route.key, "event"), "minItems": 1, "maxItems": route.route.batch}
    return {
        "type": "object",
        "description": "Events to send at once.",
        "properties": {"events": events},
        "required": ["events"],
        "additionalProperties": False,
    }


def result_schemas(route: Declared) -> dict[str, Schema]:
    """The schemas of the result of one event: accepted, or refused."""
    if route.route.stream is None:
        return {}
    name, receipt = event_name(route), receipt_schemas(route)
    found, _ = _schemas(name)
    accepted, refused = found[f"Accepted{name}"], found[f"Refused{name}"]
    accepted["properties"] = {**receipt, **accepted["properties"]}
    accepted["required"] = [*receipt, *accepted["required"]]
    refused["properties"] = {**receipt, **refused["properties"]}
    lanes, _ = schema_of(AcceptedLane)
    return {**lanes, **found}


def _schemas(name: str) -> tuple[dict[str, Schema], dict[str, Schema]]:
    """The schemas of the result of one event of that name, and those of a whole answer."""
    text = (FOLDER / "results.yaml").read_text(encoding="utf-8").replace("NAME", name)
    whole = (f"{name}Results", f"Refused{name}s")
    found: dict[str, Schema] = yaml.safe_load(text)
    return {key: found[key] for key in found if key not in whole}, {key: found[key] for key in whole}


def receipt_schemas(route: Declared) -> dict[str, Schema]:
    """The schemas of the fields that an event's result has beside its lane; none until the route has an example."""
    if route.route.stream is None or not examples_of(route.key):
        return {}
    values = receipt_of(route.route.stream, event_of(route.key))
    return {
        name: {"type": "string", **({"format": "date-time"} if is_canonical(value) else {})}
        for name, value in values.items()
    }


def error_schemas() -> dict[str, Schema]:
    """The schemas of an error, and of the bodies with which a function or API Gateway refuses a request."""
    found: dict[str, Schema] = yaml.safe_load((FOLDER / "errors.yaml").read_text(encoding="utf-8"))
    found["ErrorCode"]["enum"] = [mapping(kind).code for kind in error_kinds()]
    return found
