"""Which requests the stage's own servers answer."""

from __future__ import annotations

import pytest

from localstage.core.own_machine import refusal


@pytest.mark.parametrize(
    ("host", "origin", "site"),
    [
        ("127.0.0.1:8000", None, None),
        ("127.8.9.10:8000", None, None),
        ("LOCALHOST", None, None),
        ("[::1]:8000", None, "none"),
        ("localhost:8000", "http://localhost:8000", "same-origin"),
    ],
)
def test_programs_of_this_machine_and_the_servers_own_pages_are_answered(
    host: str, origin: str | None, site: str | None
) -> None:
    assert refusal(host, origin, site) == ""


@pytest.mark.parametrize(
    "host", [None, "", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "::1"]
)
def test_a_name_that_only_points_to_this_machine_is_refused(host: str | None) -> None:
    """DNS rebinding."""
    assert refusal(host, None, None).startswith(f"Host: {host!r} ")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9000", "https://127.0.0.1:8000", "http://127.0.0.1"]
)
def test_a_page_of_another_origin_is_refused(origin: str) -> None:
    assert refusal("127.0.0.1:8000", origin, None).startswith(f"Origin: {origin!r} ")


@pytest.mark.parametrize("site", ["cross-site", "same-site", ""])
def test_a_page_that_sends_no_origin_is_refused(site: str) -> None:
    """Images, frames, links and no-cors GETs."""
    assert refusal("127.0.0.1:8000", None, site).startswith(f"Sec-Fetch-Site: {site!r} ")
