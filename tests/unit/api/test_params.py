"""Whole numbers in parameters are accepted as numbers or digits, and refused with a reason."""

from __future__ import annotations

import pytest

from headrace.api.params import Params, path_parameters, read
from headrace.core.errors import InvalidRequest, NotFound
from headrace.core.fields import Number, whole_number


class Numbers(Params):
    query: Number = whole_number(1, 200, default=20)
    body: int = whole_number(1, 200, default=20)


def refusal(name: str, value: object) -> str:
    with pytest.raises(InvalidRequest) as caught:
        read(Numbers, {name: value})
    (detail,) = caught.value.details
    assert caught.value.message == f"{name} {detail.message}"
    assert detail.allowed == "a whole number from 1 to 200"
    return detail.message


@pytest.mark.parametrize("value", [1, 200, "1", "200", "007"])
def test_a_whole_number_is_a_number_or_its_digits(value: object) -> None:
    found = read(Numbers, {"query": value})

    assert found is not None
    assert found.query == int(str(value))


@pytest.mark.parametrize("value", ["abc", "", "1.0", "+5", " 5", "٣", "5a", True, 1.5, [], {}])
def test_a_value_that_is_not_a_whole_number_is_refused_with_a_reason(value: object) -> None:
    assert refusal("query", value) == "is not a whole number"
    assert refusal("body", value) == "is not a whole number"


@pytest.mark.parametrize("value", [0, 201, -1, 10**40, "0", "-5", "201", "9" * 5000])
def test_a_whole_number_out_of_range_is_refused_with_the_range(value: object) -> None:
    assert refusal("query", value) == "is out of range"


def test_digits_are_not_a_number_where_only_numbers_are_accepted() -> None:
    assert refusal("body", "5") == "is not a whole number"
    assert refusal("body", 0) == "is out of range"


MEMBER = "PUT /rooms/{roomId}/members/{userId}"


@pytest.mark.parametrize(
    ("path", "user"),
    [
        ("/rooms/r/members/fred", "fred"),
        ("/base/rooms/r/members/fred", "fred"),
        ("/rooms/r/members/caf%C3%A9", "café"),
        ("/rooms/r/members/café", "café"),
        ("/rooms/r/members/100%25", "100%"),
        ("/rooms/r/members/a%252Fb", "a%2Fb"),
    ],
)
def test_a_path_whose_parts_are_its_parameters_is_accepted(path: str, user: str) -> None:
    given = {"roomId": "r", "userId": user}

    assert path_parameters(MEMBER, {"rawPath": path, "pathParameters": given}) == given


@pytest.mark.parametrize(
    "path",
    ["/rooms/r%2Fmembers%2Ffred", "/rooms/r%2fmembers/fred", "/rooms/r/members/fred%3Fx", "/rooms/x/members/fred"],
)
def test_a_path_with_other_parts_than_its_parameters_has_no_route(path: str) -> None:
    """A gateway that decodes before it finds the route would add ``fred`` to ``r``."""
    with pytest.raises(NotFound):
        path_parameters(MEMBER, {"rawPath": path, "pathParameters": {"roomId": "r", "userId": "fred"}})
