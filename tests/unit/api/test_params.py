"""Whole numbers in parameters are accepted as numbers or digits, and refused with a reason."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BeforeValidator, Field

from headrace.api.params import Params, read, whole_number
from headrace.core.errors import InvalidRequest

FORM = "a whole number from 1 to 200"


class Numbers(Params):
    query: Annotated[int, BeforeValidator(whole_number(1, 200))] = Field(default=20, description=FORM)
    body: Annotated[int, BeforeValidator(whole_number(1, 200, takes_digits=False))] = Field(
        default=20, description=FORM
    )
    phrase: Annotated[int, BeforeValidator(whole_number(1, 200, message="is not offered"))] = 20


def refusal(name: str, value: object) -> str:
    with pytest.raises(InvalidRequest) as caught:
        read(Numbers, {name: value})
    (detail,) = caught.value.details
    assert caught.value.message == f"{name} {detail.message}"
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


@pytest.mark.parametrize("value", ["abc", 0])
def test_a_parameter_may_have_one_phrase_for_all_wrong_values(value: object) -> None:
    assert refusal("phrase", value) == "is not offered"
