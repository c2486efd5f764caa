"""Settings of all tests."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from botocore.model import OperationModel
from botocore.validate import ParamValidator
from hypothesis import HealthCheck, settings

from headrace.api import responses
from headrace.runtime import aws, observability

if TYPE_CHECKING:
    from tests.e2e.conftest import RunningStage

# What names a stage in the developer's shell, for example after eval "$(make -s env)": tests have their own stages.
# And the variables of the make that runs them, which the make of a test would take for its own.
for _name in (
    *("HEADRACE", "WS", "TOKEN", "TOKENS", "OPS_TOKEN", "FRIEND_TOKEN", "TOKEN_URL", "HTTP_URL", "WS_URL"),
    *("CLIENT_ID", "CLIENT_SECRET", "ANALYST_ID", "ANALYST_SECRET"),
    *("MAKEFLAGS", "MAKEOVERRIDES"),
):
    os.environ.pop(_name, None)

# A deadline would be a timed assertion, which fails on a slow machine. Examples are random: every run tries others,
# also on CI, where Hypothesis would repeat them.
_ALWAYS: dict[str, Any] = {"derandomize": False, "deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("short", max_examples=25, **_ALWAYS)
settings.register_profile("long", max_examples=300, **_ALWAYS)
settings.load_profile("long" if os.environ.get("ALL") else "short")


LONG = (
    "faults/",
    "e2e/test_declared_proof.py",
    "e2e/test_streams.py",
    "api/test_access.py",
    "api/test_generated.py",
    "e2e/test_lifecycle.py",
    "e2e/test_webhooks.py",
    "e2e/test_rate_limit.py",
)
LONG += ("e2e/test_docs_snippets.py", "e2e/test_console.py", "e2e/")
LONG += ("contract/localstage/", "contract/loadtest/", "contract/queues/")
"""Files of tests that come first, in this order: those that have stages of their own, and then those that take long."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first, so that the processes of a run end together, and no stage starts beside two others."""

    def rank(item: pytest.Item) -> int:
        path = item.path.relative_to(Path(__file__).parent).as_posix()
        return next((at for at, start in enumerate(LONG) if path.startswith(start)), len(LONG))

    items.sort(key=rank)


@pytest.fixture(autouse=True, scope="session")
def _errors_are_listed() -> Iterator[None]:
    """Every error that a function answers in this process is listed with its route in the reference.

    The errors of other processes, such as a stage's functions, are checked in ``tests/api``.
    """
    answered = responses.Call.answered

    def checked(call: responses.Call, *how: Any) -> dict[str, Any]:
        found = answered(call, *how)
        codes = set(re.findall(r'"error":\{"code":"(\w+)"', found.get("body", "")))
        if codes and (listed := _listed_codes().get(call.key)):
            assert codes <= listed, f"{call.key} answers {codes - listed}, which the reference does not list"
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(responses.Call, "answered", checked)
        yield


@functools.cache
def _listed_codes() -> dict[str, set[str]]:
    """The error codes of each route and action, by its key."""
    from tools.api_reference import routes  # loads every function

    return {each.key: {routes.mapping(error).code for error in each.errors()} for each in routes.declared()}


@pytest.fixture(autouse=True, scope="session")
def _requests_match_aws_models() -> Iterator[None]:
    """Every request that the layer makes in this process is one that AWS's own model of the service allows.

    The clients of the layer do not check parameters. Calls of other processes, such as a stage's functions, are checked
    where they arrive: localstage/ministack.py, localstage/services/node/known_parameters.cjs.
    """
    validator = ParamValidator()

    def check(params: dict[str, Any], model: OperationModel, **_: Any) -> None:
        report = validator.validate(params, model.input_shape)
        assert not report.has_errors(), f"{model.name}: {report.generate_report()}"

    events = aws.session().events
    events.register_first("provide-client-params.*.*", check)
    yield
    events.unregister("provide-client-params.*.*", check)


@pytest.fixture(autouse=True)
def _nothing_of_another_test_is_in_the_log() -> Iterator[None]:
    """The logger of the process is as in a new environment: no correlation id, and no report is held back."""
    yield
    observability.logger.set_correlation_id(None)
    observability._throttle = observability.LogThrottle()


@pytest.fixture(scope="session")
def platform() -> Iterator[RunningStage]:
    """A stage with the platform's template, shared by all tests of the session that need no other."""
    from tests.e2e.conftest import ROOT, fresh_stage  # most tests start no stage

    stage = fresh_stage("platform", ROOT / "template.yaml", LOCALSTAGE_STREAMS="examples/streams")
    try:
        yield stage.wait_ready()
    finally:
        stage.stop()
