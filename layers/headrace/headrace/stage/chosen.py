"""The features of this stage, and what is known of them without their code, or of the part that is asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headrace.core.errors import ConfigurationError
from headrace.core.feature import Feature, chosen
from headrace.runtime.settings import FeatureSettings

if TYPE_CHECKING:
    from headrace.api.router import Route
    from headrace.core.sender import Gate

_FOLDER = "headrace.features"


FEATURES: tuple[Feature, ...]
FEATURES = tuple(import_module(f"{_FOLDER}.{name}").FEATURE for name in import_module(_FOLDER).NAMES)
"""All features, in the order of their hooks."""
CHOSEN = chosen(FEATURES, FeatureSettings.read().stage_features)
"""Those of this stage."""


def module(feature: Feature, name: str) -> ModuleType:
    """A module of the feature's folder."""
    return import_module(f"{_FOLDER}.{feature.name}.{name}")


def parts(part: str, features: Sequence[Feature] | None = None) -> list[Any]:
    """The object of that name in a module of each of ``features``, or of those of this stage, that has it."""
    of = CHOSEN if features is None else features
    return [getattr(module(each, each.parts[part]), part) for each in of if part in each.parts]


def made(part: str, features: Sequence[Feature] | None = None, *arguments: Any) -> list[Any]:
    """What the :func:`parts` of that name make of ``arguments``, one after the other."""
    return [each for make in parts(part, features) for each in make(*arguments)]


def actions() -> list[str]:
    """The actions that features add to the WebSocket API."""
    return [action for feature in CHOSEN for action in feature.actions]


def routes_of(function: str) -> dict[str, Route]:
    """The routes that features add to a function, or put in the place of its own."""
    found: dict[str, Route] = {}
    for feature in CHOSEN:
        if function in feature.routes:
            routes: dict[str, Route] = module(feature, feature.routes[function]).ROUTES[function]
            if twice := found.keys() & routes.keys():
                raise ConfigurationError(f"two features have the route {min(twice)}")
            found |= routes
    return found


@functools.cache
def gates_of(kind: str) -> tuple[Gate, ...]:
    """The gates of features for events of a kind; they are imported for the first one."""
    return tuple(gate() for gate in parts("gate", [each for each in CHOSEN if kind in each.gates]))


def status_readers() -> dict[str, Callable[[], Any]]:
    """What features read for the status, by the name of its part."""
    return {name: read for status in parts("status") for name, read in status().items()}
