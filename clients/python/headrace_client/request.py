"""Requests, and the decorator of a method that describes one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NamedTuple, ParamSpec, Protocol, TypeVar, cast, overload

if TYPE_CHECKING:
    from .client import AsyncHeadrace, Headrace

Answer = TypeVar("Answer", covariant=True)
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Request(NamedTuple, Generic[Answer]):
    """A request whose answer is an ``Answer``."""

    method: str
    path: str
    query: Mapping[str, Any] | None = None
    body: Any = None


def waiting(
    method: Callable[Concatenate[Any, Parameters], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Any, Parameters], Result]:
    """A method that waits for one of ``_inner``, whose methods are coroutines."""

    @functools.wraps(method)
    def wait(self: Any, /, *args: Parameters.args, **given: Parameters.kwargs) -> Any:
        return self._run(method(self._inner, *args, **given))

    return wait


class Operation(Protocol[Parameters, Answer]):
    """A method that sends a request: a coroutine in the one client, and a call that waits in the other."""

    @overload
    def __get__(self, client: AsyncHeadrace, owner: type) -> Callable[Parameters, Coroutine[Any, Any, Answer]]: ...

    @overload
    def __get__(self, client: Headrace, owner: type) -> Callable[Parameters, Answer]: ...


def operation(described: Callable[Concatenate[Any, Parameters], Request[Answer]]) -> Operation[Parameters, Answer]:
    """Make a method that sends the request which ``described`` returns."""

    @functools.wraps(described)
    def send(client: Any, *args: Parameters.args, **query: Parameters.kwargs) -> Any:
        return client.request(*described(client, *args, **query))

    return cast("Operation[Parameters, Answer]", send)
