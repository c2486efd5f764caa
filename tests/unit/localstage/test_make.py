"""Errors of commands that make runs, in ``localstage/client/make.py``."""

import click
import pytest
from click.testing import CliRunner

from localstage.client.make import Commands


@click.group(cls=Commands)
def commands() -> None:
    pass


@commands.command()
@click.option("--seconds", type=click.FloatRange(0, 60))
@click.option("--config-env", type=click.Choice(["dev", "prod"]), required=True)
def kill(seconds: float | None, config_env: str) -> None:
    click.echo(f"{seconds} {config_env}")


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["--seconds", "x"], "headrace: SECONDS: 'x' is not a valid float range\n"),
        (["--seconds", "61"], "headrace: SECONDS: 61.0 is not in the range 0<=x<=60\n"),
        (["--config-env", "x"], "headrace: STAGE_ENV: 'x' is not one of 'dev', 'prod'\n"),
        ([], "headrace: STAGE_ENV: is missing\n"),
    ],
)
def test_an_error_is_one_sentence_with_makes_variable(arguments: list[str], printed: str) -> None:
    result = CliRunner().invoke(commands, ["kill", *arguments], env={"MAKELEVEL": "1", "ARGS": None})

    assert (result.stderr, result.exit_code) == (printed, 2)


@pytest.mark.parametrize("variables", [{"MAKELEVEL": None}, {"MAKELEVEL": "1", "ARGS": "--seconds x"}])
def test_an_option_that_the_person_wrote_is_named_as_written(variables: dict[str, str | None]) -> None:
    result = CliRunner().invoke(commands, ["kill", "--seconds", "x"], env=variables)

    assert "Invalid value for '--seconds'" in result.stderr
