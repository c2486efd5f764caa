"""Event sources of a template become triggers."""

import pytest

from localstage.core.errors import TemplateError
from localstage.core.model import StreamMapping
from tests.unit.localstage.template.template_stage import FUNCTION, TABLE

RESOURCES = """
Keys: {Type: AWS::SecretsManager::Secret, Properties: {SecretString: '{"username": "ann", "password": "s3cret"}'}}
Rabbit:
  Type: AWS::AmazonMQ::Broker
  Properties: {BrokerName: rabbit, EngineType: RABBITMQ, Users: [{Username: ann, Password: s3cret}]}
Work:
  Type: AWS::SQS::Queue
  Properties: {VisibilityTimeout: 60, RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 5}}
Dead: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}
"""
STREAM = "    StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}\n"


def with_event(kind: str, properties: str) -> str:
    return FUNCTION.rstrip() + f"\n      Events:\n        It: {{Type: {kind}, Properties: {{{properties}}}}}\n"


def rabbitmq(more: str) -> str:
    access = "SourceAccessConfigurations: [{Type: BASIC_AUTH, URI: !Ref Keys}, {Type: VIRTUAL_HOST, URI: chat}]"
    return with_event("MQ", f"Broker: !GetAtt Rabbit.Arn, Queues: [persist.0], {access}{more}")


@pytest.mark.parametrize(
    ("written", "window"),
    [("", None), (", MaximumBatchingWindowInSeconds: 0", 0), (", MaximumBatchingWindowInSeconds: 5", 5)],
)
def test_an_unset_window_is_not_a_window_of_zero(project, written, window):
    mapping = project.load(RESOURCES, function=rabbitmq(written)).rabbitmq_mappings["EchoIt"]

    assert mapping.window == window


def test_a_queue_that_shows_records_again_before_the_function_ends_is_refused(project):
    function = with_event("SQS", "Queue: !GetAtt Work.Arn").replace("Handler:", "Timeout: 61\n      Handler:")

    with pytest.raises(TemplateError, match=r"Work\.VisibilityTimeout: 60 s is shorter than Echo\.Timeout"):
        project.load(RESOURCES, function=function)


def table_event(more: str = "") -> str:
    return with_event("DynamoDB", f"Stream: !GetAtt Things.StreamArn, StartingPosition: TRIM_HORIZON{more}")


def test_the_stream_of_a_table_is_read_with_its_settings(project):
    failures = "DestinationConfig: {OnFailure: {Type: SQS, Destination: !GetAtt Dead.Arn}}"
    more = f", BatchSize: 50, ParallelizationFactor: 4, MaximumRecordAgeInSeconds: 600, {failures}"
    more += ", MaximumBatchingWindowInSeconds: 5"  # not waited for
    more += ", BisectBatchOnFunctionError: true"
    more += """, FilterCriteria: {Filters: [{Pattern: '{"eventName": ["INSERT", "MODIFY"]}'}]}"""
    model = project.load(RESOURCES + TABLE + STREAM, function=table_event(more))

    assert model.stream_mappings["EchoIt"] == StreamMapping(
        "EchoIt", "Echo", "Things", 50, 4, False, 600, "Dead", True, frozenset({"INSERT", "MODIFY"})
    )
    assert model.tables["Things"].definition["StreamSpecification"] == {
        "StreamEnabled": True,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }


@pytest.mark.parametrize(
    ("stream", "more", "reason"),
    [
        ("", "", "Things has no StreamSpecification"),
        (STREAM, ", MaximumRetryAttempts: 3", "MaximumRetryAttempts: the local stage knows only -1"),
        (
            STREAM,
            """, FilterCriteria: {Filters: [{Pattern: '{"eventName": [{"prefix": "I"}]}'}]}""",
            "EchoIt.FilterCriteria: the local stage knows only names as eventName",
        ),
        (
            STREAM,
            ", DestinationConfig: {OnFailure: {Type: SQS, Destination: 'arn:aws:sqs:us-east-1:1:other'}}",
            "DestinationConfig: it is not a queue of this template",
        ),
    ],
)
def test_a_mapping_of_a_stream_that_the_stage_cannot_run_is_refused(project, stream, more, reason):
    with pytest.raises(TemplateError, match=reason):
        project.load(RESOURCES + TABLE + stream, function=table_event(more))


def test_what_the_template_disables_is_not_run(project):
    disabled = with_event("Schedule", "Schedule: rate(5 minutes), Enabled: false")

    assert not project.load("", function=disabled).schedules
    assert not project.load(RESOURCES, function=rabbitmq(", Enabled: false")).rabbitmq_mappings
