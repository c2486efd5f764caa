"""The values of ``Ref`` and ``Fn::GetAtt`` on a local stage, per resource type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from localstage.core.errors import TemplateError
from localstage.core.model import ACCOUNT, BrokerUrls

STACK = "headrace-local"
PARTITION = "aws"
URL_SUFFIX = "amazonaws.com"

# The property with the physical name, for types whose name the template may set.
_NAMES = {
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Lambda::Alias": "Name",
    "AWS::DynamoDB::Table": "TableName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::SecretsManager::Secret": "Name",
    "AWS::AmazonMQ::Broker": "BrokerName",
    "AWS::ElastiCache::ServerlessCache": "ServerlessCacheName",
}
Values = dict[str, str | list[str]]


@dataclass(frozen=True)
class Live:
    """Where the stage's own services listen.

    ``amqp_url`` has no credentials (``amqp://127.0.0.1:5672``), ``broker_console_url`` is the URL of the same broker's
    management API; ``cache_host`` has those of the cache, if any, before
    the host (``:password@127.0.0.1``), as in a URL.
    """

    amqp_url: str
    cache_host: str = field(repr=False)
    cache_port: int
    issuer_url: str
    dynamodb_url: str
    sqs_url: str
    s3_url: str
    secrets_manager_url: str
    management_url: str
    broker_console_url: str = ""
    further_brokers: Mapping[str, BrokerUrls] = field(default_factory=dict)
    """The brokers after the first, by their logical ids."""


class Attributes:
    """Answers ``Ref`` and ``Fn::GetAtt`` for a stage whose services are ``live``."""

    def __init__(self, live: Live) -> None:
        self.live = live

    def value(
        self, type_: str, logical_id: str, attribute: str, property_: Callable[[str], str], region: str
    ) -> str | list[str]:
        """The value of ``Fn::GetAtt``, or of ``Ref`` if that is the ``attribute``.

        ``property_`` resolves another property of the resource. The physical name is the template's own, else
        ``headrace-local-<logical id>``. Types that the stage does not run get a harmless placeholder.

        Raises:
            TemplateError: the stage runs this type, and does not know the attribute.
        """
        given = property_(_NAMES[type_]) if type_ in _NAMES else ""
        name = given or f"{STACK}-{logical_id}"
        if type_ == "AWS::S3::Bucket":
            name = name.lower()
        values = self._values(type_, logical_id, name, property_, region)
        if attribute in values:
            return values[attribute]
        if values:
            known = ", ".join(values)
            raise TemplateError(f"{logical_id}.{attribute}: the local stage knows {known} of {type_}")
        if attribute == "Ref":
            return name
        return self._arn("local", region, name) if attribute.endswith("Arn") else f"{name}.{attribute}"

    def endpoint(self, variable: str) -> str | None:
        """The stage's value of a variable such as ``AWS_ENDPOINT_URL_SQS``; None for any other variable."""
        return {
            "AWS_ENDPOINT_URL_DYNAMODB": self.live.dynamodb_url,
            "AWS_ENDPOINT_URL_SQS": self.live.sqs_url,
            "AWS_ENDPOINT_URL_S3": self.live.s3_url,
            "AWS_ENDPOINT_URL_EVENTBRIDGE": self.live.sqs_url,
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": self.live.secrets_manager_url,
            "AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI": self.live.management_url,
            "WEBHOOK_ADDRESSES": "127.0.0.0/8",  # a receiver on this machine
        }.get(variable)

    def _arn(self, service: str, region: str, resource: str) -> str:
        return f"arn:{PARTITION}:{service}:{region}:{ACCOUNT}:{resource}"

    def _values(self, type_: str, id: str, name: str, property_: Callable[[str], str], region: str) -> Values:
        """All values that the stage knows of a resource; none of a type that it does not run."""
        live = self.live
        broker = live.further_brokers.get(id, BrokerUrls(live.amqp_url, live.broker_console_url))

        def arn(service: str, resource: str) -> str:
            return self._arn(service, region, resource)

        function = property_("FunctionName").rpartition(":")[2]  # of an alias or a version
        queues = live.sqs_url.rstrip("/")
        values: dict[str, Values] = {
            "AWS::Lambda::Function": {"Ref": name, "Arn": arn("lambda", f"function:{name}")},
            "AWS::Lambda::Alias": {"Ref": arn("lambda", f"function:{function}:{name}")},
            "AWS::Lambda::Version": {"Ref": arn("lambda", f"function:{function}:1"), "Version": "1"},
            "AWS::Lambda::LayerVersion": {"Ref": arn("lambda", f"layer:{id}:1")},
            "AWS::ApiGatewayV2::Api": {"Ref": id, "ApiId": id},
            "AWS::ApiGatewayV2::Route": {"Ref": id},
            "AWS::ApiGatewayV2::Integration": {"Ref": id},
            "AWS::ApiGatewayV2::Authorizer": {"Ref": id},
            "AWS::DynamoDB::Table": {
                "Ref": name,
                "Arn": arn("dynamodb", f"table/{name}"),
                # Only the service knows the time in the ARN of a stream.
                "StreamArn": arn("dynamodb", f"table/{name}/stream/local"),
            },
            "AWS::SQS::Queue": {
                "Ref": f"{queues}/{ACCOUNT}/{name}",
                "Arn": arn("sqs", name),
                "QueueName": name,
            },
            "AWS::S3::Bucket": {"Ref": name, "Arn": f"arn:{PARTITION}:s3:::{name}"},
            # A secret's ARN ends in six random characters that only the service knows. GetSecretValue also
            # accepts the ARN without them, which is the same at every start.
            "AWS::SecretsManager::Secret": {"Ref": arn("secretsmanager", f"secret:{name}")},
            "AWS::AmazonMQ::Broker": {
                "Ref": "b-local",
                "Arn": arn("mq", f"broker:{name}:b-local"),
                "AmqpEndpoints": [broker.amqp],
                "ConsoleURLs": [broker.console],
            },
            "AWS::ElastiCache::ServerlessCache": {
                "Ref": name,
                "Endpoint.Address": live.cache_host,
                "Endpoint.Port": str(live.cache_port),
            },
            "AWS::Cognito::UserPool": {"Ref": f"{region}_local", "ProviderURL": live.issuer_url},
            "AWS::Cognito::UserPoolClient": {"Ref": "local"},
        }
        return values.get(type_, {})
