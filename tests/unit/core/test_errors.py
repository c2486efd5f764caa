"""Every error has one public shape without internal details."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.api.error_bodies import mapping_of, to_body
from headrace.core import errors
from headrace.core.errors import FieldError, HeadraceError, InvalidEvent, PublishNacked, RateLimited


def every(base: type[BaseException]) -> Iterator[type[BaseException]]:
    for child in base.__subclasses__():
        yield child
        yield from every(child)


ERRORS = [HeadraceError, *(each for each in every(HeadraceError) if each.__module__ == "headrace.core.errors")]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_the_status_says_whose_fault_an_error_is(kind: type[HeadraceError]) -> None:
    known = mapping_of(kind("poison" if kind is errors.PoisonRecord else ""))

    assert (known.status >= 500) == (not issubclass(kind, errors.UserError | errors.PoisonRecord))


def test_an_error_has_one_shape() -> None:
    error = InvalidEvent("roomId is empty", details=[FieldError("roomId", "is empty", "", "1 to 128 characters")])

    assert to_body(error) == {
        "code": "invalid_event",
        "message": "roomId is empty",
        "details": [{"field": "roomId", "message": "is empty", "got": "", "allowed": "1 to 128 characters"}],
    }


@pytest.mark.parametrize("error", [RateLimited("slower", retry_after=3), PublishNacked("refused", retry_after=3)])
def test_a_temporary_error_has_a_time_to_retry_after(error: HeadraceError) -> None:
    assert to_body(error)["retryAfter"] == 3


@pytest.mark.parametrize("error", [KeyError("secret"), errors.ConfigurationError("BROKER_SECRET_ARN")])
def test_internal_errors_expose_no_details(error: Exception) -> None:
    assert to_body(error) == {
        "code": "internal",
        "message": "something went wrong on our side; it has been logged",
        "details": [],
    }
    assert mapping_of(error).status == 500


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("x" * 65, "x" * 64 + "…"),
        ("\ud800", "?"),
        (7, 7),
        (10**40, "a number of more than 64 bits"),
        ([1, 2], "an array of 2"),
        ({"a": 1}, "an object with 1 fields"),
        (True, True),
    ],
)
def test_a_value_that_is_sent_back_is_bounded_and_encodable(value: object, got: object) -> None:
    assert errors.echo(value) == got
