"""The values of ``Ref`` and ``Fn::GetAtt`` on a local stage, per resource type."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

log = logging.getLogger("localstage.template")

STACK = "headrace-local"
ACCOUNT = "123456789012"
PARTITION = "aws"
URL_SUFFIX = "amazonaws.com"


@dataclass(frozen=True)
class Live:
    """Where the stage's own services listen.

    ``amqp_url`` has no credentials (``amqp://127.0.0.1:5672``), ``broker_console_url`` is the URL of the same broker's
    management API; ``cache_host`` has those of the cache, if any, before
    the host (``:password@127.0.0.1``), as in a URL. An empty ``dynamodb_url``, ``sqs_url`` or
    ``secrets_manager_url`` means AWS itself, in ``account``. ``http_url`` and ``websocket_url`` are the values of
    an API's ``ApiEndpoint``; empty means the address that it would have on AWS.
    """

    amqp_url: str
    cache_host: str = field(repr=False)
    cache_port: int
    issuer_url: str
    dynamodb_url: str
    sqs_url: str
    secrets_manager_url: str
    management_url: str
    http_url: str = ""
    websocket_url: str = ""
    account: str = ACCOUNT
    broker_console_url: str = ""


@dataclass(frozen=True)
class Named:
    """A resource as its getters see it: ``name`` is its physical name, ``other`` resolves another property."""

    id: str
    name: str
    other: Callable[[str], str]


class Place:
    """Region and services: what getters build ARNs and addresses from."""

    def __init__(self, live: Live, region: str) -> None:
        self.live = live
        self.region = region

    def arn(self, service: str, resource: str) -> str:
        """An ARN in this region and account."""
        return f"arn:{PARTITION}:{service}:{self.region}:{self.live.account}:{resource}"

    def function_arn(self, named: Named) -> str:
        return self.arn("lambda", f"function:{named.name}")

    def api_endpoint(self, named: Named) -> str:
        websocket = bool(named.other("RouteSelectionExpression"))
        local = self.live.websocket_url if websocket else self.live.http_url
        scheme = "wss" if websocket else "https"
        return local or f"{scheme}://{named.id}.execute-api.{self.region}.{URL_SUFFIX}"


Getter = Callable[[Place, Named], str | list[str]]


@dataclass(frozen=True)
class Kind:
    """One resource type: the property with its name, and the values of its attributes."""

    name_property: str
    ref: Getter
    attributes: Mapping[str, Getter] = field(default_factory=dict)


def _name(_: Place, named: Named) -> str:
    return named.name


def _id(_: Place, named: Named) -> str:
    return named.id


def _arn(service: str, resource: str) -> Getter:
    return lambda place, named: place.arn(service, resource.format(name=named.name))


def _live(text: str) -> Getter:
    return lambda place, _: text.format(live=place.live)


def _queue_url(place: Place, named: Named) -> str:
    service = place.live.sqs_url.rstrip("/") or f"https://sqs.{place.region}.{URL_SUFFIX}"
    return f"{service}/{place.live.account}/{named.name}"


def _alias(place: Place, named: Named) -> str:
    return f"{place.arn('lambda', 'function:' + named.other('FunctionName').rpartition(':')[2])}:{named.name}"


def _version(place: Place, named: Named) -> str:
    return f"{place.arn('lambda', 'function:' + named.other('FunctionName').rpartition(':')[2])}:1"


def _layer(place: Place, named: Named) -> str:
    return place.arn("lambda", f"layer:{named.id}:1")


def _pool_id(place: Place, _: Named) -> str:
    return f"{place.region}_local"


# A secret's ARN ends in six random characters that only the service knows. GetSecretValue also
# accepts the ARN without them, which is the same at every start.
_SECRET = _arn("secretsmanager", "secret:{name}")
_BROKER = _arn("mq", "broker:{name}:b-local")
_CACHE = {"Endpoint.Address": _live("{live.cache_host}"), "Endpoint.Port": _live("{live.cache_port}")}

KINDS: Mapping[str, Kind] = {
    "AWS::Lambda::Function": Kind("FunctionName", _name, {"Arn": Place.function_arn}),
    "AWS::Lambda::Alias": Kind("Name", _alias, {"AliasArn": _alias}),
    "AWS::Lambda::Version": Kind("", _version, {"Version": lambda _place, _named: "1"}),
    "AWS::Lambda::LayerVersion": Kind("LayerName", _layer, {"LayerVersionArn": _layer}),
    "AWS::ApiGatewayV2::Api": Kind("", _id, {"ApiId": _id, "ApiEndpoint": Place.api_endpoint}),
    "AWS::ApiGatewayV2::Stage": Kind("", lambda _, named: named.other("StageName")),
    "AWS::ApiGatewayV2::Route": Kind("", _id, {"RouteId": _id}),
    "AWS::ApiGatewayV2::Integration": Kind("", _id, {"IntegrationId": _id}),
    "AWS::ApiGatewayV2::Authorizer": Kind("", _id, {"AuthorizerId": _id}),
    "AWS::DynamoDB::Table": Kind("TableName", _name, {"Arn": _arn("dynamodb", "table/{name}")}),
    "AWS::SQS::Queue": Kind(
        "QueueName", _queue_url, {"Arn": _arn("sqs", "{name}"), "QueueName": _name, "QueueUrl": _queue_url}
    ),
    "AWS::SecretsManager::Secret": Kind("Name", _SECRET, {"Id": _SECRET}),
    "AWS::AmazonMQ::Broker": Kind(
        "BrokerName",
        lambda _place, _named: "b-local",
        {
            "Arn": _BROKER,
            "AmqpEndpoints": lambda place, _: [place.live.amqp_url],
            "ConsoleURLs": lambda place, _: [place.live.broker_console_url],
        },
    ),
    "AWS::ElastiCache::ServerlessCache": Kind(
        "ServerlessCacheName", _name, {"ARN": _arn("elasticache", "serverlesscache:{name}"), **_CACHE}
    ),
    "AWS::Cognito::UserPool": Kind(
        "UserPoolName",
        _pool_id,
        {
            "UserPoolId": _pool_id,
            "Arn": lambda place, named: place.arn("cognito-idp", f"userpool/{_pool_id(place, named)}"),
            "ProviderURL": _live("{live.issuer_url}"),
        },
    ),
    "AWS::Cognito::UserPoolClient": Kind(
        "", lambda _place, _named: "local", {"ClientId": lambda _place, _named: "local"}
    ),
}

_ENDPOINTS: Mapping[str, Callable[[Live], str]] = {
    "AWS_ENDPOINT_URL_DYNAMODB": lambda live: live.dynamodb_url,
    "AWS_ENDPOINT_URL_SQS": lambda live: live.sqs_url,
    "AWS_ENDPOINT_URL_SECRETS_MANAGER": lambda live: live.secrets_manager_url,
    "AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI": lambda live: live.management_url,
}


class Attributes:
    """Answers ``Ref`` and ``Fn::GetAtt`` for a stage whose services are ``live``."""

    def __init__(self, live: Live) -> None:
        self.live = live

    def name(self, type_: str, logical_id: str, property_: Callable[[str], str]) -> str:
        """The physical name: the template's own, else ``headrace-local-<logical id>``."""
        kind = KINDS.get(type_)
        given = property_(kind.name_property) if kind and kind.name_property else ""
        if given:
            return given
        return f"{STACK}-{logical_id}"

    def ref(self, type_: str, logical_id: str, property_: Callable[[str], str], region: str) -> str | list[str]:
        """The value of ``Ref``; a harmless placeholder for types that the stage does not run."""
        name = self.name(type_, logical_id, property_)
        kind = KINDS.get(type_)
        return kind.ref(Place(self.live, region), Named(logical_id, name, property_)) if kind else name

    def get_att(
        self, type_: str, logical_id: str, attribute: str, property_: Callable[[str], str], region: str
    ) -> str | list[str]:
        """The value of ``Fn::GetAtt``; a harmless placeholder for types that the stage does not run."""
        name = self.name(type_, logical_id, property_)
        kind = KINDS.get(type_)
        place = Place(self.live, region)
        if kind and attribute in kind.attributes:
            return kind.attributes[attribute](place, Named(logical_id, name, property_))
        if kind:
            known = ", ".join(kind.attributes)
            log.warning(
                "%s.%s is only a placeholder here: the stage knows %s of %s", logical_id, attribute, known, type_
            )
        return place.arn("local", name) if attribute.lower().endswith("arn") else f"{name}.{attribute}"

    def endpoint(self, variable: str) -> str | None:
        """The stage's URL for a variable such as ``AWS_ENDPOINT_URL_SQS``; None for any other variable."""
        endpoint = _ENDPOINTS.get(variable)
        return endpoint(self.live) if endpoint else None
