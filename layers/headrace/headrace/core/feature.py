"""What is known of a feature before it is imported, and which features a stage has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headrace.core.errors import ConfigurationError

ALL, NONE = "all", "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """What is known of a feature before it is imported.

    ``parts`` and ``routes`` name modules of its folder: of each part, which is an object of that name there, and of the
    routes that it adds to each function. ``functions`` are its own. It adds ``fields`` to messages. The keys of its
    rows begin with ``prefixes``. It gates events of the kinds in ``gates``, adds ``actions`` to the WebSocket API, and
    tells others events of the types in ``tells``.
    """

    name: str
    needs: tuple[str, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    routes: Mapping[str, str] = field(default_factory=dict)
    functions: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    tells: tuple[str, ...] = ()


def chosen(features: Sequence[Feature], names: Sequence[str]) -> tuple[Feature, ...]:
    """The features of a stage: those with ``names``, in the order of ``features``, which is that of their hooks.

    Raises:
        ConfigurationError: a name is unknown, two features have one name, field or prefix, or one is without a feature
            that it needs.
    """
    known = [each.name for each in features]
    prefixes = [prefix for each in features for prefix in each.prefixes]
    fields = [name for each in features for name in each.fields]
    for what, used in (("name", known), ("field", fields), ("prefix", prefixes)):
        if len({*used}) < len(used):
            raise ConfigurationError(f"two features have one {what}: {', '.join(used)}")
    wanted = {*names}
    if wanted in ({ALL}, {NONE}):
        wanted = {*known} if wanted == {ALL} else set()
    if unknown := sorted(wanted - {*known}):
        allowed = f"{ALL}, {NONE}, or a comma list of {', '.join(known)}"
        raise ConfigurationError(f"there is no feature {unknown[0]!r}; Features must be {allowed}")
    found = tuple(each for each in features if each.name in wanted)
    for each in found:
        if missing := [name for name in each.needs if name not in wanted]:
            raise ConfigurationError(f"Features has {each.name} without {missing[0]}, which it needs")
    return found
