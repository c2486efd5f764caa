"""The Locust processes of a load run."""

from __future__ import annotations

from loadtest.client.target import Target
from loadtest.load import phase


def test_the_secret_of_the_token_url_is_no_argument_of_a_process() -> None:
    """Other users of the machine see arguments, but not the environment."""
    target = Target("http://127.0.0.1:1", "ws://127.0.0.1:2/local", "http://127.0.0.1:3/UserPool/token?secret=s3cret")

    command, environment = phase(target, "FrameUser", 100, 4)

    assert "s3cret" not in " ".join(command)
    assert environment["TOKEN_URL"] == target.token_url
