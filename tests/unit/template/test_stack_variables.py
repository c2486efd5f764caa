"""The environment variables of each function."""

import json
import re
from typing import Any

from headrace.stage.registry import STREAMS
from tests.unit.template_stack import ROOT, TemplateStack

KINDS = ("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SQS::Queue", "AWS::SecretsManager::Secret")
NOT_USED = {
    "ManageDeadLetters": {"AdClicksTable", "DeclaredTable", "LiftRidesTable"},  # letters are validated with them
    "TidyAttachments": {"MembershipsTable"},  # its settings are those of rooms
}
"""What a function has the address of without a right."""


def named(stack: TemplateStack, node: Any) -> set[str]:
    """The tables, buckets, queues and secrets that are named in ``node``."""
    words = set(re.findall(r"\w+", json.dumps(node)))
    return {name for name in words if name in stack.resources and stack.resources[name]["Type"] in KINDS}


def test_a_function_has_only_the_addresses_of_what_it_may_use(template_stack: TemplateStack) -> None:
    """The rehearsal shows that it has those that it needs."""
    for function in template_stack.folders:
        declared = template_stack.resources[function]["Properties"]["Environment"]["Variables"]
        may = named(template_stack, [json.loads(one.resource) for one in template_stack.permissions(function)])

        assert named(template_stack, declared) - may == NOT_USED.get(function, set()), function


def test_dead_letters_are_validated_with_the_settings_of_persist_events(template_stack: TemplateStack) -> None:
    for variable in {name for each in STREAMS.values() for name in (each.table_setting, each.retention_setting)}:
        in_persist_events = template_stack.value_of("PersistEvents", variable)
        assert template_stack.value_of("ManageDeadLetters", variable) == in_persist_events


def test_analytics_take_no_environment_from_ingestion(template_stack: TemplateStack) -> None:
    assert template_stack.reserved("ReadAnalytics") == 5


def test_every_function_folder_is_in_the_template_and_the_other_way_round(template_stack: TemplateStack) -> None:
    folders = {path.parent.name for path in (ROOT / "functions").glob("*/app.py")}

    assert set(template_stack.folders.values()) == folders
