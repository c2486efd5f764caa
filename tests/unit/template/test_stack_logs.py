"""What Lambda logs, and what it never drops."""

from __future__ import annotations

import pytest

from localstage.template import parameters
from tests.unit.template_stack import ROOT, TemplateStack


def test_lambda_drops_no_metric_at_any_log_level(template_stack: TemplateStack) -> None:
    """Lambda counts a line of metrics as INFO."""
    for function in template_stack.folders:
        logging = template_stack.resources[function]["Properties"]["LoggingConfig"]

        assert logging["ApplicationLogLevel"] == {"Fn::If": ["LogsDebug", "DEBUG", "INFO"]}
        assert template_stack.value_of(function, "POWERTOOLS_LOG_LEVEL") == {"Ref": "LogLevel"}


@pytest.mark.parametrize(("stage", "shown"), [("dev", True), ("staging", True), ("prod", False)])
def test_stages_where_memory_is_tuned_log_lambdas_reports(
    template_stack: TemplateStack, stage: str, shown: bool
) -> None:
    values = parameters.values(template_stack.parameters, parameters.from_samconfig(ROOT / "samconfig.toml", stage))
    logging = template_stack.resources["ReadChat"]["Properties"]["LoggingConfig"]

    assert logging["SystemLogLevel"] == {"Fn::If": ["IsProd", "WARN", "INFO"]}
    assert (values["StageName"] != "prod") == shown
