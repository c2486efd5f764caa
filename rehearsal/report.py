"""The table of what was checked, by resource type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase

from rehearsal.cloud import Resource
from rehearsal.gaps import ALARM, GAPS

_USED = {
    "AWS::ApiGatewayV2::Api": "created; its routes are called by `make test`",
    "AWS::CloudFormation::Stack": "created and deployed",
    "AWS::DynamoDB::Table": "created, and used by the functions",
    "AWS::EC2::VPCEndpoint": "created, and its policy enforced in every call of a function in the VPC",
    "AWS::IAM::ManagedPolicy": "created, and enforced in every call of a function",
    "AWS::IAM::Role": "created, and enforced in every call of a function",
    "AWS::Lambda::Alias": "created, and invoked with the events of its function",
    "AWS::Lambda::Function": "created, and invoked with its events",
    "AWS::Lambda::LayerVersion": "created, and imported by the functions",
    "AWS::S3::Bucket": "created, and used by the functions",
    "AWS::SQS::Queue": "created, and used by the functions",
    "AWS::SQS::QueuePolicy": "created, and enforced in every call of a function",
    "AWS::SecretsManager::Secret": "created, and read by the functions",
}

_NO_EVENT = {
    "*: logs:*": "Lambda writes the logs",
    "PersistEventsRole: sqs:[DGR]e*": "Lambda's mapping reads the retry queue",
    "EraseUsersRole: sqs:[DGR]e* on *ErasureQueue*": "Lambda's mapping reads the queue of erasures",
    "SendWebhooksRole: sqs:[DGR]e* on *WebhookQueue*": "Lambda's mapping reads the queue of webhooks",
    "*: mq:DescribeBroker on *": "Lambda's mapping finds the broker",
    "WriteExportsRole: sqs:*": "Lambda's mapping reads the queue of exports; a slice of 14 minutes sends the next one",
    "ManageExportsRole: s3:GetObject on *": "who opens a link uses it",
    "Read*Role: s3:GetObject on *": "who opens a link uses it",
    "ManageRoomsRole: s3:PutObject* on *": "who uploads to a signed address uses it",
    "ArchiveEventsRole: dynamodb:*": "Lambda's mappings read the streams",
    "ArchiveEventsRole: sqs:SendMessage on *UntoldQueue*": "Lambda's mappings name what they give up",
    "TellOthersRole: dynamodb:*": "Lambda's mappings read the streams",
    "P*: secretsmanager:GetSecretValue on *-BrokerConsumerSecret-*": "Lambda's mapping reads the broker",
}
"""Rights that no event can use, because only Lambda itself or a signed address needs them, and for what."""


def table(resources: Sequence[Resource]) -> str:
    """One line for each type: how many of it the stacks have, and what was checked of them."""
    counts = Counter(one.type for one in resources)
    lines = [(type_, str(count), checked(type_)) for type_, count in sorted(counts.items())]
    widths = [max(len(line[column]) for line in lines) for column in (0, 1)]
    return "\n".join(f"  {type_:<{widths[0]}}  {count:>{widths[1]}}  {text}" for type_, count, text in lines)


def unproven(unused: Sequence[str]) -> list[str]:
    """The unused rights that the code of a function has: each needs an event, or can go."""
    return [one for one in unused if not any(fnmatchcase(one, pattern) for pattern in _NO_EVENT)]


def reasons(unused: Sequence[str]) -> str:
    """One line for each unused right, with the reason."""
    return "\n".join(
        f"  {one} ({reason})" for one in unused for pattern, reason in _NO_EVENT.items() if fnmatchcase(one, pattern)
    )


def checked(type_: str) -> str:
    """What the rehearsal checks of a type."""
    if type_.startswith("Custom::"):
        return "run: its function declared exchanges and queues on the broker"
    if type_ == ALARM:
        return "created by the emulator; of metric math, ids and the number of metrics are checked"
    return GAPS[type_].instead if type_ in GAPS else _USED.get(type_, "created by the emulator; not used")
