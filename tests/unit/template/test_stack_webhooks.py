"""Webhooks: which addresses are accepted, and numbers of the template that belong together."""

from __future__ import annotations

import re

import pytest

from headrace.features.tell.webhooks import JITTER, LONGEST_RETRY_AFTER, TRY_AGES
from tests.unit.template_stack import TemplateStack

HOURS = 3600


@pytest.mark.parametrize(
    ("url", "accepted"),
    [
        ("", True),
        ("https://hooks.example.com", True),
        ("https://hooks.example.com:8443/a/b?c=d&e=%20f", True),
        ("http://127.0.0.1:9000/hook", True),  # only the local stage lets the function call it
        ("https://hooks.example.com/" + "x" * 1000, True),
        ("https://hooks.example.com/" + "x" * 2000, False),  # a key of a table has 2,048 bytes at most
        ("http://hooks.example.com/", False),
        ("http://127.0.0.1.example.com/", False),
        ("https://user:password@hooks.example.com/", False),
        ("https://hooks.example.com/#part", False),
        ("https://hooks.example.com/a b", False),
        ("https://hooks.example.com/\r\nx: y", False),
        ("https://[::1]/", False),
        ("https://a.example/,https://b.example/", True),  # one address, with a comma in its path
        ("ftp://hooks.example.com/", False),
    ],
)
def test_the_address_is_one_https_url_without_a_user(template_stack: TemplateStack, url: str, accepted: bool) -> None:
    pattern = template_stack.parameters["WebhookUrl"]["AllowedPattern"]

    assert bool(re.fullmatch(pattern, url)) == accepted


def test_without_an_address_nothing_is_sent(template_stack: TemplateStack) -> None:
    mapping, policy = (template_stack.resources[name] for name in ("SendWebhooksMessages", "TellWebhooksPolicy"))

    assert template_stack.parameters["WebhookUrl"]["Default"] == ""
    assert mapping["Condition"] == policy["Condition"] == "SendsWebhooks"


def test_a_receiver_is_switched_off_before_an_event_has_ended(template_stack: TemplateStack) -> None:
    """So an outage ends no event, and none is hidden for longer than SQS can."""
    variables = template_stack.resources["SendWebhooks"]["Properties"]["Environment"]["Variables"]
    pauses = [after - before for before, after in zip((0, *TRY_AGES), TRY_AGES, strict=False)]

    assert int(variables["WEBHOOK_FAILING_SECONDS"]) + max(pauses) * (1 + JITTER) <= TRY_AGES[-1]
    assert max(pauses) * (1 + JITTER) <= 12 * HOURS
    assert LONGEST_RETRY_AFTER <= 12 * HOURS


def test_events_that_wait_for_their_receiver_are_kept_to_the_end(template_stack: TemplateStack) -> None:
    """SQS counts each look at the switch."""
    variables = template_stack.resources["SendWebhooks"]["Properties"]["Environment"]["Variables"]
    queue = template_stack.resources["WebhookQueue"]["Properties"]
    looks = queue["MessageRetentionPeriod"] / (int(variables["WEBHOOK_OFF_PAUSE_SECONDS"]) * (1 - JITTER))

    assert queue["MessageRetentionPeriod"] == 14 * 24 * HOURS
    assert looks + len(TRY_AGES) < queue["RedrivePolicy"]["maxReceiveCount"]
    assert queue["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": ["WebhookDeadLetterQueue", "Arn"]}
