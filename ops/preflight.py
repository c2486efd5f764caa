"""Checks an account before the first deployment of a stage to it. Each check only reads."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import boto3

from headrace.core.errors import ConfigurationError
from headrace.core.feature import chosen
from headrace.core.stream import TIME_SHARDS
from headrace.features.declared.folder import declarations
from headrace.stage.chosen import FEATURES
from headrace_client.cli.doctor_stage import CannotTell, Failed, Finding, run, run_all
from localstage.template import parameters
from localstage.template.document import parse
from ops import replacements
from ops.aws import NO_REGION, Stack, call
from ops.declared import findings, table_lacks

PARAMETERS_OF = {"TellTarget": ("", "tell"), "WebhookUrl": ("", "tell"), "Archive": ("off", "archive")}
"""The value without which a parameter does nothing while its feature is left out, and that feature."""
DOMAINS = ("HttpDomain", "WebSocketDomain", "DomainCertificateArn", "DomainZoneId")
ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = ROOT / "template.yaml"
CONFIG = ROOT / "samconfig.toml"
STREAMS = ROOT / "streams"

MOST_RESOURCES = 500  # of a stack, as CloudFormation counts them after the transforms
UNRESERVED = 100
"""Concurrent executions that Lambda leaves for functions without a reservation."""
CONCURRENCY, USUAL_CONCURRENCY = "L-B99A9384", 1000
VPCS, USUAL_VPCS = "L-F678F1CE", 5
"""Codes of quotas, and what an account usually has."""
NOT_IN_DOMAINS = ("aws", "amazon", "cognito")
"""Words that the domain of a user pool may not have."""
BROKER_NAME, CACHE_NAME = 50, 40
"""Characters of the names of a broker and of a serverless cache at most."""


@dataclass(frozen=True)
class Plan:
    """A stage that is to be deployed: ``values`` of all parameters, ``given`` those of samconfig.toml."""

    stack: Stack
    resources: Mapping[str, Any]
    values: Mapping[str, Any]
    given: Mapping[str, str]
    region: str

    def of_type(self, type_: str) -> Iterator[Mapping[str, Any]]:
        """The properties of the template's resources of a type."""
        return (one["Properties"] for one in self.resources.values() if one["Type"] == type_)

    @property
    def reserved(self) -> int:
        """Concurrent executions that the functions reserve together."""
        if self.values["ReserveConcurrency"] == "false":
            return 0
        found = [one.get("ReservedConcurrentExecutions") for one in self.of_type("AWS::Serverless::Function")]
        return sum(self._number(one["Fn::If"][1]) for one in found if one is not None)

    def _number(self, node: Any) -> int:
        match node:
            case {"Fn::If": ["HasSecondBroker", with_it, without]}:
                return int(with_it if self.values["BrokerCount"] == "2" else without)
            case {"Ref": name}:
                return int(self.values[name])
        return int(node)

    @property
    def is_cluster(self) -> bool:
        """Whether the broker has three nodes, each in a zone."""
        return bool(self.values["BrokerDeploymentMode"] == "CLUSTER_MULTI_AZ")


def plan(config_env: str) -> Plan:
    """The stage of a section of samconfig.toml.

    Raises:
        StageError: no such section, or a parameter that the template does not allow.
    """
    given = parameters.from_samconfig(CONFIG, config_env)
    document = parse(TEMPLATE.read_text(encoding="utf-8"), TEMPLATE)
    parameters.check_names(document["Parameters"], given, f"samconfig.toml [{config_env}]")
    values = parameters.values(document["Parameters"], given)
    name = tomllib.loads(CONFIG.read_text(encoding="utf-8"))[config_env]["global"]["parameters"]["stack_name"]
    return Plan(Stack(name), document["Resources"], values, given, boto3.session.Session().region_name or "")


def examine(wanted: Plan) -> Iterator[Finding]:
    """Run the checks, one after the other; only the first six for a stack that exists."""
    yield (first := run("identity", lambda: identity(wanted)))
    if first.verdict == "fail":
        return
    yield (exists := run("stack", lambda: stack(wanted)))
    yield from run_all({"notices": notices, "domains": domains, "features": features, "streams": streams}, wanted)
    if exists.detail == NEW:
        yield from run_all(CHECKS, wanted)


def identity(wanted: Plan) -> str:
    """The credentials are accepted, and there is a Region."""
    if not wanted.region:
        raise Failed(NO_REGION)
    try:
        who = call("sts", "get_caller_identity")
    except CannotTell as error:
        raise Failed(f"{error}; sign in with aws configure, aws sso login or aws login") from None
    return f"account {who['Account']}, Region {wanted.region}, as {who['Arn']}"


NEW = "it is new"


def stack(wanted: Plan) -> str:
    """The stack does not exist, or can be updated and keeps what cannot be changed."""
    found = wanted.stack.described()
    if found is None or found["StackStatus"] == "REVIEW_IN_PROGRESS":  # of a change set that was not confirmed
        return NEW
    name, status = wanted.stack.name, found["StackStatus"]
    delete = f"delete it before you deploy again: make destroy STACK={name}"
    if status.startswith(("ROLLBACK_", "DELETE_")):
        raise Failed(f"{name} is {status}; {delete}")
    if status == "UPDATE_ROLLBACK_FAILED":
        raise Failed(f"{name} is {status}; end it with aws cloudformation continue-update-rollback")
    if status.endswith("_IN_PROGRESS"):
        raise Failed(f"{name} is {status}: wait for its end")
    has = _parameters(found)
    both = {key: (has[key], value) for key, value in wanted.given.items() if has.get(key, value) != value}
    if "Zones" in both:
        has_zones = both["Zones"][0] or "the first ones of the account"
        raise Failed(f"Zones cannot be changed: {name} has {has_zones}. For others, {delete}")
    old, new = (int(value) for value in both.get("WarmWriteUnits", (0, 0)))
    if new < old:
        raise Failed(f"WarmWriteUnits cannot be lowered: {name} has {old}")
    _check_time_shards(name, has, wanted.given)
    numbers(_updated(wanted, has))
    alone = "; raise WarmWriteUnits in a separate deployment (docs/how-to/upgrade.md)" if new > old else ""
    return f"{name} is {status}{alone}"


def _parameters(described: Mapping[str, Any] | None) -> dict[str, str]:
    return {one["ParameterKey"]: one.get("ParameterValue", "") for one in (described or {}).get("Parameters", ())}


def _updated(wanted: Plan, has: Mapping[str, str]) -> Plan:
    """The stage with the values that its stack has where samconfig.toml gives none."""
    return replace(wanted, values={**wanted.values, **has, **wanted.given})


def _check_time_shards(name: str, has: Mapping[str, str], given: Mapping[str, str]) -> None:
    """Refuse numbers with which answers would lack rows: of functions that are replaced later, or of all."""
    reads = int(has.get("TimeShardsRead", TIME_SHARDS.read))
    written = int(given.get("TimeShardsWritten", TIME_SHARDS.write))
    if written > reads:
        raise Failed(f'{name} reads {reads} time shards: deploy TimeShardsRead = "{written}" before TimeShardsWritten')
    if int(given.get("TimeShardsRead", reads)) < reads:
        raise Failed(
            f"with a lower TimeShardsRead than {reads}, answers lack the rows in the other shards. "
            "If the last of these has expired, deploy with PREFLIGHT=no"
        )


def notices(wanted: Plan) -> str:
    """The alarms of ``prod`` send notifications, costs have a reader, and what the stage notifies is in its Region."""
    values = _updated(wanted, _parameters(wanted.stack.described())).values
    for name in ("AlarmTopicArn", "DomainCertificateArn", "TellTarget"):
        if (arn := values[name]) and arn.split(":")[3] != wanted.region:
            raise Failed(f"{name} must be in {wanted.region}, as the stage, got {arn}")
    if not values["CostEmail"] and {values["MonthlyBudget"], values["CostAnomaly"]} != {"0"}:
        raise Failed("MonthlyBudget and CostAnomaly write to CostEmail: set it to an address such as costs@example.com")
    if not (topic := values["AlarmTopicArn"]):
        if values["StageName"] != "prod":
            return "alarms show in the console only: AlarmTopicArn is empty"
        make = "aws sns create-topic --name headrace-alarms, then aws sns subscribe"
        raise Failed(
            f"the alarms of prod send no notification. Make a topic ({make}), and set AlarmTopicArn to its ARN"
        )
    try:
        confirmed = call("sns", "get_topic_attributes", TopicArn=topic)["Attributes"]["SubscriptionsConfirmed"]
    except CannotTell as error:
        if "NotFound" in str(error):
            raise Failed(f"AlarmTopicArn: there is no topic {topic}") from None
        raise
    if confirmed == "0":
        raise Failed(
            f"{topic} has no confirmed subscription: aws sns subscribe, then confirm it by the link in the mail"
        )
    return f"{confirmed} confirmed subscriptions of {topic}"


def domains(wanted: Plan) -> str:
    """Two names of the APIs are given with their zone and a certificate that is issued for both, or none is."""
    values = _updated(wanted, _parameters(wanted.stack.described())).values
    http, live, arn, zone_id = given = [values[name] for name in DOMAINS]
    if not any(given):
        return "the names of API Gateway"
    if not all(given) or http == live:
        raise Failed(
            f"{', '.join(DOMAINS)} go together, or none, and the names differ; got {', '.join(map(repr, given))}"
        )
    certificate = call("acm", "describe_certificate", CertificateArn=arn)["Certificate"]
    zone = call("route53", "get_hosted_zone", Id=zone_id)["HostedZone"]["Name"].rstrip(".")
    covered = {certificate["DomainName"], *certificate.get("SubjectAlternativeNames", ())}
    for name in (http, live):
        if certificate["Status"] != "ISSUED" or not covered & {name, f"*.{name.partition('.')[2]}"}:
            found = f"{certificate['Status']}, for {', '.join(sorted(covered))}"
            raise Failed(
                f"DomainCertificateArn: a certificate that is ISSUED for {name} is needed, got one that is {found}"
            )
        if not name.endswith(f".{zone}"):
            raise Failed(f"DomainZoneId: {name} is not in the zone {zone}")
    return f"{http} and {live}"


def features(wanted: Plan) -> str:
    """The features exist, none is without one that it needs, and no parameter is of one that is left out."""
    values = _updated(wanted, _parameters(wanted.stack.described())).values
    found = named(values["Features"])
    for name, (off, feature) in PARAMETERS_OF.items():
        if values[name] != off and feature not in found:
            raise Failed(f"{name} is set, but Features leaves {feature} out")
    return f"the stage has {', '.join(found) or 'no optional feature'}"


def named(features: str) -> list[str]:
    """The names of the features in a comma list. Raises Failed."""
    try:
        return [each.name for each in chosen(FEATURES, features.split(","))]
    except ConfigurationError as error:
        raise Failed(str(error)) from None


def streams(wanted: Plan) -> str:
    """The files of the folder streams have no mistake, and the stage has the feature of declared streams."""
    values = _updated(wanted, _parameters(wanted.stack.described())).values
    names = declared(values["Features"], STREAMS)
    for broken in findings(STREAMS):
        raise Failed(broken)
    return f"declared are {', '.join(names) or 'none'}"


def declared(features: str, folder: Path) -> list[str]:
    """The names of the streams that the files of ``folder`` declare. Raises Failed."""
    try:
        streams = declarations(str(folder))
    except ConfigurationError as error:
        raise Failed(str(error)) from None
    resources = parse(TEMPLATE.read_text(encoding="utf-8"), TEMPLATE)["Resources"]
    for lacks in filter(None, (table_lacks(each, resources) for each in streams)):
        raise Failed(lacks)
    found = [each.name for each in streams]
    if found and "declared" not in named(features):
        raise Failed(f"{folder.name}/ declares {', '.join(found)}, but Features leaves declared out")
    return found


def numbers(wanted: Plan) -> str:
    """Numbers that depend on one another fit, such as an environment of persist_events for each of its mappings."""
    values = wanted.values
    queues = sum(int(value) for name, value in values.items() if name.endswith("Queues"))
    queues *= int(values["BrokerCount"])
    needed = queues + int(values["RetryMaxConcurrency"])
    if int(values["PersistConcurrency"]) < needed:
        raise Failed(f'{queues} persist queues and RetryMaxConcurrency need PersistConcurrency = "{needed}" at least')
    least, most = int(values["MinimumTableUnits"]), int(values["MaximumTableUnits"])
    if least > most:
        raise Failed(f'with MinimumTableUnits = "{least}", MaximumTableUnits must be as large; it is {most}')
    counts = Counter(
        f"{name.rpartition('/')[0] or 'template'}.yaml" for name in replacements.resources(*wanted.given.items())
    )
    (largest, count), *_ = counts.most_common()
    if count > MOST_RESOURCES:
        raise Failed(f"{largest} has {count} resources, at most {MOST_RESOURCES} fit: lower the queues of a stream")
    return f"the numbers of the parameters fit together; {largest} has {count} of {MOST_RESOURCES} resources"


def concurrency(wanted: Plan) -> str:
    """Lambda's quota has room for what the functions reserve."""
    limits = call("lambda", "get_account_settings")["AccountLimit"]
    quota, room = limits["ConcurrentExecutions"], max(0, limits["UnreservedConcurrentExecutions"] - UNRESERVED)
    if wanted.reserved > room:
        asked = max(USUAL_CONCURRENCY, quota - room + wanted.reserved)
        raise Failed(
            f"of {quota} concurrent executions {room} can be reserved, and the stage reserves {wanted.reserved}. "
            f"Ask for more: {_request('lambda', CONCURRENCY, asked)}. "
            f'Or set ReserveConcurrency = "false", to try it out'
        )
    return f"the stage reserves {wanted.reserved} of {quota}; {room - wanted.reserved} more could be reserved"


def zones(wanted: Plan) -> str:
    """The zones of the subnets offer the broker's type and the interface endpoints."""
    every, offered = _zones_by_position(), _offered(wanted)
    used = (wanted.values["Zones"].split(",") if wanted.values["Zones"] else every)[: 3 if wanted.is_cluster else 2]
    of_endpoints = used[: 2 if wanted.values["StageName"] == "prod" else 1]
    missing = [
        f"{zone} has no {what}"
        for what, where in offered.items()
        for zone in (of_endpoints if what.startswith("com.") else used if wanted.is_cluster else used[:1])
        if zone not in where
    ]
    if not missing and len(used) >= (3 if wanted.is_cluster else 2):
        return ", ".join(used)
    good = [zone for zone in every if all(zone in where for where in offered.values())]
    why = "; ".join(missing) or f"the account has the zones {', '.join(every)} only"
    if len(good) < max(len(of_endpoints), 3 if wanted.is_cluster else 1):
        raise Failed(f"{why}. Too few zones of {wanted.region} have all: choose another Region or BrokerInstanceType")
    others = [zone for zone in every if zone not in good]
    raise Failed(f'{why}. Set Zones = "{",".join(([*good, *others] * 3)[:3])}"')


def _zones_by_position() -> list[str]:
    """The zones that ``Fn::GetAZs`` returns: those with a default subnet, if any has one."""
    filters = [{"Name": "zone-type", "Values": ["availability-zone"]}, {"Name": "state", "Values": ["available"]}]
    found = call("ec2", "describe_availability_zones", Filters=filters)["AvailabilityZones"]
    every = sorted(one["ZoneName"] for one in found)
    subnets = call("ec2", "describe_subnets", Filters=[{"Name": "default-for-az", "Values": ["true"]}])["Subnets"]
    default = {one["AvailabilityZone"] for one in subnets}
    return [zone for zone in every if zone in default] or every


def _offered(wanted: Plan) -> dict[str, set[str]]:
    """The zones in which the broker's type, and the service of each interface endpoint, are offered."""
    broker, *_ = wanted.of_type("AWS::AmazonMQ::Broker")
    type_, mode = wanted.values["BrokerInstanceType"], wanted.values["BrokerDeploymentMode"]
    options = call("mq", "describe_broker_instance_options", EngineType="RABBITMQ", HostInstanceType=type_)
    fitting = [
        one
        for one in options["BrokerInstanceOptions"]
        if mode in one["SupportedDeploymentModes"] and str(broker["EngineVersion"]) in one["SupportedEngineVersions"]
    ]
    if not fitting:
        raise Failed(f"{wanted.region} has no RabbitMQ {broker['EngineVersion']} on {type_} as {mode}")
    offered = {type_: {zone["Name"] for one in fitting for zone in one["AvailabilityZones"]}}
    endpoints = [one for one in wanted.of_type("AWS::EC2::VPCEndpoint") if one["VpcEndpointType"] == "Interface"]
    names = [one["ServiceName"]["Fn::Sub"].replace("${AWS::Region}", wanted.region) for one in endpoints]
    for one in call("ec2", "describe_vpc_endpoint_services", ServiceNames=names)["ServiceDetails"]:
        offered[one["ServiceName"]] = set(one.get("AvailabilityZones", ()))
    return offered


def _request(service: str, quota: str, value: int) -> str:
    """The command that asks AWS for a larger quota."""
    return (
        f"aws service-quotas request-service-quota-increase --service-code {service} --quota-code {quota} "
        f"--desired-value {value}"
    )


def vpcs(wanted: Plan) -> str:
    """The quota of VPCs has room for one more."""
    try:
        quota = int(call("service-quotas", "get_service_quota", ServiceCode="vpc", QuotaCode=VPCS)["Quota"]["Value"])
    except CannotTell:
        quota = USUAL_VPCS
    count = len(call("ec2", "describe_vpcs")["Vpcs"])
    if count >= quota:
        asks = _request("vpc", VPCS, count + 1)
        raise Failed(f"{wanted.region} has {count} of {quota} VPCs. Delete one, or ask for more: {asks}")
    return f"{count} of {quota}"


def api_gateway(wanted: Plan) -> str:
    """The role for logs is not replaced, and the rate of the routes is one that the account has."""
    account = call("apigateway", "get_account")
    role, makes = account.get("cloudwatchRoleArn"), wanted.values["ApiGatewayLogsRole"] == "make"
    if role and makes:
        raise Failed(f'the account has the role {role}, which "make" would replace. Set ApiGatewayLogsRole = "exists"')
    if not role and not makes:
        raise Failed('the account has no role for logs. Set ApiGatewayLogsRole = "make"')
    rate = account.get("throttleSettings", {}).get("rateLimit")
    if rate and float(wanted.values["RouteRate"]) > rate:
        raise Failed(f'the account takes {rate:g} requests per second. Set RouteRate = "{rate:g}"')
    return f"the role for logs {role or 'will be made'}"


def names(wanted: Plan) -> str:
    """The name of the stack fits broker and cache, and that of the stage the domains of the user pools."""
    stack, stage, mode = wanted.stack.name, wanted.values["StageName"], wanted.values["BrokerDeploymentMode"]
    most = min(CACHE_NAME, BROKER_NAME - len(f"-{mode}-2"))
    if len(stack) > most or not re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", stack):
        allowed = f"at most {most} lower-case letters, digits and single hyphens"
        raise Failed(f"stack_name: broker and cache are named after the stack, and take {allowed}, got {stack!r}")
    if not wanted.values["JwtIssuer"] and (word := next((one for one in NOT_IN_DOMAINS if one in stage), None)):
        raise Failed(f"StageName: the domain of a user pool may not have the word {word}, got {stage!r}")
    return f"{stack}, and the domain {wanted.values['JwtIssuer'] or f'headrace-{stage}-…'}"


def account_plan(_wanted: Plan) -> str:
    """The account is not one of the Free Plan, which lacks services."""
    try:
        found = str(call("freetier", "get_account_plan_state")["accountPlanType"])
    except CannotTell as error:
        if "ResourceNotFound" in str(error):  # of before July 2025
            return "none"
        raise
    if found == "FREE":
        raise CannotTell("FREE: it lacks some services. If one is refused, upgrade the account: Billing, Account plan")
    return found


CHECKS: dict[str, Callable[[Plan], str]] = {
    "numbers": numbers,
    "concurrency": concurrency,
    "zones": zones,
    "VPCs": vpcs,
    "API Gateway": api_gateway,
    "names": names,
    "account plan": account_plan,
}
"""The checks of a stack that does not exist yet; each has the docstring of what must hold."""
