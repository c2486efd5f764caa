"""Queues and mappings deliver every event to its function, and to the next queue after a failure."""

from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from headrace.delivery import retry_schedule
from headrace.queues.names import persist_queues
from localstage.core.model import BrokerUrls
from localstage.template import Attributes, load
from tests.unit.localstage.template.template_stage import LIVE
from tests.unit.template_stack import TEMPLATE, TemplateStack


def test_each_broker_has_the_same_mappings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P3: what a second broker takes is stored, and pushed, as what the first one takes."""
    monkeypatch.setenv("LOCALSTAGE_BROKERS", "2")
    attributes = Attributes(replace(LIVE, further_brokers={"SecondBroker": BrokerUrls("amqp://127.0.0.1:2", "")}))

    model = load(TEMPLATE, attributes=attributes, state_dir=tmp_path)

    read = {
        broker: sorted((one.queue, one.function_id, one.secret_id, one.batch_size, str(one.window)) for one in mappings)
        for broker, mappings in groupby(model.rabbitmq_mappings.values(), lambda one: one.broker_id)
    }
    assert read.keys() == {"Broker", "SecondBroker"}
    assert read["Broker"] == read["SecondBroker"]
    assert model.functions["ReceiveHttp"].environment["BROKER_ENDPOINTS"] == "amqp://127.0.0.1:5672;amqp://127.0.0.1:2"


@pytest.mark.parametrize("count", [1, 64])
def test_a_group_has_one_mapping_for_each_of_its_queues(tmp_path: Path, count: int) -> None:
    stack = TemplateStack(tmp_path, SkiQueues=str(count))
    mappings = stack.of_type("AWS::Lambda::EventSourceMapping").values()
    queues = Counter(_text(queue) for one in mappings for queue in one.get("Queues", []))

    assert {name: queues[name] for name in queues if "ski" in name} == dict.fromkeys(persist_queues({"ski": count}), 1)


def test_only_mappings_of_live_messages_have_no_window(template_stack: TemplateStack) -> None:
    """Lambda's default of 0.5 s is the window of a mapping that sets none."""
    windows = {
        _text(queue): one.get("MaximumBatchingWindowInSeconds")
        for one in template_stack.of_type("AWS::Lambda::EventSourceMapping").values()
        for queue in one.get("Queues", [])
    }

    assert all((window == 0) == ("chat" in queue or "live" in queue) for queue, window in windows.items())
    assert {windows["persist.ski.0"], windows["persist.ads.0"]} == {None}


def _text(queue: object) -> str:
    return queue["Fn::Sub"] if isinstance(queue, dict) else str(queue)


def test_broker_mappings_use_only_settings_that_lambda_supports(template_stack: TemplateStack) -> None:
    for one in template_stack.of_type("AWS::Lambda::EventSourceMapping").values():
        if "Queues" in one:
            assert not {"FunctionResponseTypes", "DestinationConfig", "ScalingConfig", "FilterCriteria"} & one.keys()


def test_the_retry_mapping_delivers_one_record_and_returns_failed_ones(template_stack: TemplateStack) -> None:
    """P5: a record that crashes the function is alone in its batch."""
    retry = template_stack.resources["PersistEventsRetry"]["Properties"]

    assert retry["EventSourceArn"] == {"Fn::GetAtt": ["RetryQueue", "Arn"]}
    assert retry["BatchSize"] == 1
    assert retry["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_a_function_may_run_in_a_loop_only_if_it_sends_to_the_queue_that_invokes_it(
    template_stack: TemplateStack,
) -> None:
    """P6: Lambda stops other loops after 16 rounds. Throttled records go around for a day, other tasks to their end."""
    invokes = {
        (one["FunctionName"]["Ref"], one["EventSourceArn"]["Fn::GetAtt"][0])
        for one in template_stack.of_type("AWS::Lambda::EventSourceMapping").values()
        if "Queues" not in one
    }
    loops = {
        function
        for function, queue in invokes
        if template_stack.role_of(function) in template_stack.may("sqs:SendMessage", queue)
    }
    allowed = {
        name
        for name, one in template_stack.of_type("AWS::Lambda::Function").items()
        if one.get("RecursiveLoop") == "Allow"
    }

    assert loops == allowed == {"PersistEvents", "EraseUsers", "WriteExports"}


def test_every_queue_refuses_calls_without_tls(template_stack: TemplateStack) -> None:
    (properties,) = template_stack.of_type("AWS::SQS::QueuePolicy").values()
    (statement,) = properties["PolicyDocument"]["Statement"]

    assert {queue["Ref"] for queue in properties["Queues"]} == set(template_stack.of_type("AWS::SQS::Queue"))
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "sqs:*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_a_record_gets_as_many_attempts_as_the_retry_budget_counts(template_stack: TemplateStack) -> None:
    assert (
        template_stack.resources["RetryQueue"]["Properties"]["RedrivePolicy"]["maxReceiveCount"]
        == retry_schedule.RECEIVES
    )


def test_a_dead_record_outlives_the_retry_lane(template_stack: TemplateStack) -> None:
    kept = {name: queue["MessageRetentionPeriod"] for name, queue in template_stack.of_type("AWS::SQS::Queue").items()}

    assert kept["DeadLetterQueue"] == 14 * 86400
    assert kept["RetryQueue"] < kept["DeadLetterQueue"]


def test_a_retried_record_stays_hidden_for_six_timeouts(template_stack: TemplateStack) -> None:
    longest = template_stack.parameters["PersistTimeoutSeconds"]["MaxValue"]

    assert template_stack.resources["RetryQueue"]["Properties"]["VisibilityTimeout"] >= 6 * longest


def test_new_code_declares_its_topology_when_it_is_deployed(template_stack: TemplateStack) -> None:
    declared_by = template_stack.resources["Topology"]["Properties"]["DeclaredBy"]["Ref"]

    assert template_stack.resources[declared_by]["Type"] == "AWS::Lambda::LayerVersion"
    assert declared_by.startswith("HeadraceLayer")
    assert declared_by != "HeadraceLayer", "the translator adds a hash of the content"
