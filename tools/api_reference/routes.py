"""The routes of all functions, as the functions declare them."""

from __future__ import annotations

import importlib.util
import inspect
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headrace.api.error_bodies import ERROR_MAPPINGS, ErrorMapping
from headrace.api.router import Route
from headrace.bootstrap.api import ACTIONS
from headrace.core.errors import (
    Forbidden,
    HeadraceError,
    InvalidRequest,
    PoisonRecord,
    RateLimited,
    TokenExpired,
    Unauthorized,
    Unavailable,
    UnsupportedMediaType,
)

ROOT = Path(__file__).parents[2]
TITLES = {
    "chat": "Rooms and messages",
    "analytics": "Analytics",
    "ski": "Lift rides",
    "ads": "Ad clicks",
    "declared": "Declared streams",
    "operations": "Operations",
    "erasure": "Erasure of users",
    "exports": "Exports of users and rooms",
}
"""The title of each area of the API, in the order of the reference. A test demands these names of a new route."""
AREAS = {"health": "operations", "room_deletion": "chat"}
"""The areas of packages that have another name."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A route: ``key`` is ``METHOD /path`` of the HTTP API, or an action of the WebSocket API."""

    key: str
    route: Route
    function: str

    @property
    def is_http(self) -> bool:
        """Whether it is of the HTTP API."""
        return " " in self.key

    @property
    def method(self) -> str:
        """The HTTP method, in lower case."""
        return self.key.split()[0].lower()

    @property
    def path(self) -> str:
        """The path, with its parameters in braces."""
        return self.key.split()[1]

    @property
    def path_names(self) -> list[str]:
        """The parameters in the path."""
        return re.findall(r"{(\w+)}", self.path)

    @property
    def area(self) -> str:
        """The section of the reference: a stream, ``analytics`` or ``operations``."""
        if self.route.stream is not None:
            return self.route.stream.name
        package = [AREAS.get(each, each) for each in self.route.function.__module__.split(".")]
        return next((each for each in package if each in TITLES), "chat")

    @property
    def summary(self) -> str:
        """The first sentence of its function's docstring, as plain text; of the stream's events if it takes any."""
        text = self._sentences()[0].rstrip(".").replace("`", "")
        noun = re.match(r"An? (\w+)", getattr(self._incoming, "__doc__", None) or "")
        return re.sub(r"\bevent", noun[1], text) if noun is not None else text

    @property
    def description(self) -> str:
        """The rest of that docstring."""
        first = " ".join(self._sentences()[1:])
        return "\n\n".join(each for each in [first, *self._paragraphs()[1:]] if each and not each.startswith("Raises:"))

    @property
    def _incoming(self) -> object:
        return None if self.route.stream is None else self.route.stream.incoming

    def _sentences(self) -> list[str]:
        return self._paragraphs()[0].split(". ", 1)

    def _paragraphs(self) -> list[str]:
        text = inspect.getdoc(self.route.function)
        if not text:
            raise LookupError(f"the function of {self.key} has no docstring")
        return [plain(each) for each in text.split("\n\n")]

    def errors(self) -> list[type[HeadraceError]]:
        """The errors that it may answer, one for each code, in the order of status and code."""
        route, found = self.route, list[type[HeadraceError]](self.route.errors)
        if any((route.path, route.query, route.body, route.stream, not self.is_http)):
            found.append(InvalidRequest)
        found += [UnsupportedMediaType] if self.is_http and self.method != "get" else []
        if route.scopes is not None:
            found += [Unauthorized, TokenExpired]
        found += [Forbidden] if route.scopes else []
        found += [RateLimited] if route.scopes is not None or not self.is_http else []
        found += [HeadraceError] if self.area == "operations" and route.scopes is None else [HeadraceError, Unavailable]
        codes = {mapping(each).code for each in found}
        return [each for each in error_kinds() if mapping(each).code in codes]


@cache
def declared() -> list[Declared]:
    """Every route of every function, in the order of the functions' names."""
    found: list[Declared] = []
    for path in sorted((ROOT / "functions").glob("*/app.py")):
        routes: dict[str, Route] = getattr(_module(path), "ROUTES", {})
        found += [Declared(key, route, path.parent.name) for key, route in routes.items()]
    return found


def http_routes() -> list[Declared]:
    """The routes of the HTTP API."""
    return [each for each in declared() if each.is_http]


def actions() -> list[Declared]:
    """The actions of the WebSocket API, in the order in which the answer to an unknown action lists them."""
    found = {each.key: each for each in declared() if not each.is_http and not each.key.startswith("$")}
    return [found[name] for name in ACTIONS.split(", ")]


def error_kinds() -> list[type[HeadraceError]]:
    """One error for each code that clients get, in the order of status and code, without codes of dead letters."""
    kinds = [kind for kind in ERROR_MAPPINGS if issubclass(kind, HeadraceError) and kind is not PoisonRecord]
    by_code = {mapping(kind).code: kind for kind in reversed(kinds)}
    return sorted(by_code.values(), key=lambda each: (mapping(each).status, mapping(each).code))


def mapping(kind: type[HeadraceError]) -> ErrorMapping:
    """How an error of this kind is answered: the mapping of its class, or of its nearest base class."""
    return next(ERROR_MAPPINGS[each] for each in kind.__mro__ if each in ERROR_MAPPINGS)


def has_pause(error: type[HeadraceError]) -> bool:
    """Whether the answer has a ``retryAfter``."""
    return issubclass(error, Unavailable | RateLimited)


def plain(text: str) -> str:
    """A docstring as Markdown, in one line for each paragraph."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text).replace("``", "`")
    return "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))


def _module(path: Path) -> object:
    spec = importlib.util.spec_from_file_location(f"functions_{path.parent.name}", path)
    if spec is None or spec.loader is None:
        raise LookupError(f"{path} is not a module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
