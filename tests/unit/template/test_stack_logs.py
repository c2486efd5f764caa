"""What Lambda logs, and what it never drops."""

from __future__ import annotations

from tests.unit.template_stack import TemplateStack


def test_lambda_drops_no_metric_at_any_log_level(template_stack: TemplateStack) -> None:
    """Lambda counts a line of metrics as INFO."""
    for function in template_stack.folders:
        logging = template_stack.resources[function]["Properties"]["LoggingConfig"]

        assert logging["ApplicationLogLevel"] == {"Fn::If": ["LogsDebug", "DEBUG", "INFO"]}
        assert template_stack.value_of(function, "POWERTOOLS_LOG_LEVEL") == {"Ref": "LogLevel"}
