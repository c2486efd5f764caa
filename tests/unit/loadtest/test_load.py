"""The Locust process of a load run."""

from __future__ import annotations

import argparse

import pytest

from loadtest.client.stage_process import stage
from loadtest.client.target import Target
from loadtest.load import locust_command
from loadtest.shapes.options import add_options
from localstage.client.errors import ClientError


def options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser, ["frames", "baseline"])
    return parser.parse_args(arguments, argparse.Namespace(web=False, processes=None))


def test_the_secret_of_the_token_url_is_no_argument_of_a_process() -> None:
    """Other users of the machine see arguments, but not the environment."""
    target = Target("http://127.0.0.1:1", "ws://127.0.0.1:2/local", "http://127.0.0.1:3/UserPool/token?secret=s3cret")

    command, environment = locust_command(
        target, options("--shape", "baseline", "--scale", "0.01", "--paced", "--retry-timeout", "30")
    )

    assert "s3cret" not in " ".join(command)
    assert environment["TOKEN_URL"] == target.token_url
    assert command[command.index("--scale") + 1] == "0.01"
    assert command[command.index("--retry-timeout") + 1] == "30.0"
    assert "--paced" in command


def test_a_limit_of_the_store_is_refused_if_a_stage_runs_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run would measure a stage without it."""
    target = Target("http://127.0.0.1:1", "ws://127.0.0.1:2/local", "http://127.0.0.1:3/token")
    monkeypatch.setenv("LOCALSTAGE_WRITES_PER_KEY", "1000")

    with (
        pytest.raises(ClientError, match="LOCALSTAGE_WRITES_PER_KEY is for a stage that is started"),
        stage(print, target),
    ):
        pass
    monkeypatch.setenv("LOCALSTAGE_WRITES_PER_KEY", "0")
    with stage(print, target) as (found, _):
        assert found == target
