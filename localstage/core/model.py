"""The model of a template: what a stage has to run.

``localstage.template`` builds a :class:`StageModel`; every other module of the stage only reads it.
Ids are the template's logical ids, times are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

ACCOUNT = "123456789012"
"""The account of the stage and its emulators, which is in ARNs and the URLs of queues."""


@dataclass(frozen=True)
class Layer:
    """A layer version; ``requirements`` names what must be installed beside ``content``, if anything.

    One that ``is_plain`` is not built: Lambda unpacks its files into ``/opt``, where Python does not look for modules.
    """

    id: str
    content: Path
    requirements: Path | None
    is_plain: bool = False


@dataclass(frozen=True)
class Function:
    """A function as Lambda would run it. ``environment`` is fully resolved."""

    id: str
    name: str
    code: Path
    handler: str
    timeout: float
    memory: int
    environment: Mapping[str, str]
    layers: tuple[Layer, ...]
    reserved_concurrency: int | None = None
    may_recurse: bool = False
    """Whether a chain of requests may invoke it any number of times."""


@dataclass(frozen=True)
class Throttle:
    """API Gateway's token bucket: ``rate`` requests per second, ``burst`` at once."""

    rate: float
    burst: int


@dataclass(frozen=True)
class JwtAuthorizer:
    """An HTTP API's JWT authorizer, for the token in the header ``Authorization``."""

    id: str
    issuer: str
    audience: tuple[str, ...]


@dataclass(frozen=True)
class Cors:
    """An HTTP API's CORS configuration."""

    allow_origins: tuple[str, ...] = ()
    allow_methods: tuple[str, ...] = ()
    allow_headers: tuple[str, ...] = ()
    expose_headers: tuple[str, ...] = ()
    max_age: int | None = None


@dataclass(frozen=True)
class HttpRoute:
    """``key`` is ``METHOD /path/{param}``."""

    key: str
    function_id: str
    authorizer_id: str | None
    scopes: tuple[str, ...] = ()
    timeout: float = 30.0
    throttle: Throttle | None = None


@dataclass(frozen=True)
class HttpApi:
    """An HTTP API with payload format 2.0 and the stage ``$default``."""

    id: str
    routes: tuple[HttpRoute, ...]
    authorizers: Mapping[str, JwtAuthorizer]
    cors: Cors | None
    throttle: Throttle | None = None


@dataclass(frozen=True)
class WebSocketRoute:
    """``key`` is ``$connect``, ``$disconnect``, ``$default`` or an action; ``two_way`` sends the answer back."""

    key: str
    function_id: str
    two_way: bool
    timeout: float = 29.0
    throttle: Throttle | None = None


@dataclass(frozen=True)
class WebSocketAuthorizer:
    """A REQUEST authorizer on ``$connect``; sources such as ``route.request.header.Sec-WebSocket-Protocol``."""

    function_id: str
    identity_sources: tuple[str, ...]


@dataclass(frozen=True)
class WebSocketApi:
    """A WebSocket API; ``selection`` such as ``$request.body.action``."""

    id: str
    stage: str
    selection: str
    routes: Mapping[str, WebSocketRoute]
    authorizer: WebSocketAuthorizer | None
    throttle: Throttle | None = None


@dataclass(frozen=True)
class RabbitMqMapping:
    """A RabbitMQ event source mapping: one environment; after an error the whole batch is requeued.

    It logs in with what the secret with logical id ``secret_id`` holds. ``window`` is ``None`` for Lambda's default of
    0.5 s, else whole seconds from 0 to 300.
    """

    id: str
    function_id: str
    broker_id: str
    secret_id: str
    queue: str
    vhost: str
    batch_size: int
    window: int | None


@dataclass(frozen=True)
class SqsMapping:
    """An SQS event source mapping on the queue with logical id ``queue_id``. ``batch_size`` is from 1 to 10."""

    id: str
    function_id: str
    queue_id: str
    batch_size: int
    maximum_concurrency: int | None
    partial_response: bool


@dataclass(frozen=True)
class StreamMapping:
    """An event source mapping on the stream of the table with logical id ``table_id``, from its oldest record on.

    Changes of one partition key stay in order; ``lanes`` batches run at once. Records older than ``maximum_age``
    (``None``: than the stream keeps) are given up: the queue ``failure_queue_id`` is told where they are. A batch with
    which the function fails is tried again in halves if it ``bisects``. Without ``event_names`` all changes are read.
    """

    id: str
    function_id: str
    table_id: str
    batch_size: int
    lanes: int
    partial_response: bool
    maximum_age: int | None = None
    failure_queue_id: str | None = None
    bisects: bool = False
    event_names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Schedule:
    """``expression`` is ``rate(…)`` or ``cron(…)``."""

    id: str
    function_id: str
    expression: str


@dataclass(frozen=True)
class Table:
    """``definition`` holds CreateTable's arguments (without capacity extras no emulator knows)."""

    id: str
    name: str
    definition: Mapping[str, Any]
    ttl_attribute: str | None


@dataclass(frozen=True)
class Queue:
    """``attributes`` are CreateQueue's; ``dead_letter_id`` is the logical id of the queue it redrives to."""

    id: str
    name: str
    attributes: Mapping[str, str]
    dead_letter_id: str | None
    max_receive_count: int | None


@dataclass(frozen=True)
class Bucket:
    """A bucket of S3 with its CORS rules in the form of S3's API.

    Its policy, encryption and lifecycle are not emulated.
    """

    id: str
    name: str
    cors_rules: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Secret:
    """A secret with its resolved value. Never logged: ``value`` is left out of ``repr``."""

    id: str
    name: str
    arn: str
    value: str = field(repr=False)


@dataclass(frozen=True)
class Broker:
    """An Amazon MQ broker for RabbitMQ and its one administrator."""

    id: str
    arn: str
    username: str
    password: str = field(repr=False)


class BrokerUrls(NamedTuple):
    """A broker's URL, without credentials in it, and the URL of its management API."""

    amqp: str
    console: str


@dataclass(frozen=True)
class CustomResource:
    """A resource that a function makes: invoked with CloudFormation's Create event at every start."""

    id: str
    type: str
    function_id: str
    properties: Mapping[str, Any]


@dataclass(frozen=True)
class StageModel:
    """All that one template declares, keyed by logical id."""

    functions: Mapping[str, Function] = field(default_factory=dict)
    http_apis: Mapping[str, HttpApi] = field(default_factory=dict)
    websocket_apis: Mapping[str, WebSocketApi] = field(default_factory=dict)
    rabbitmq_mappings: Mapping[str, RabbitMqMapping] = field(default_factory=dict)
    sqs_mappings: Mapping[str, SqsMapping] = field(default_factory=dict)
    stream_mappings: Mapping[str, StreamMapping] = field(default_factory=dict)
    schedules: Mapping[str, Schedule] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    queues: Mapping[str, Queue] = field(default_factory=dict)
    buckets: Mapping[str, Bucket] = field(default_factory=dict)
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    brokers: Mapping[str, Broker] = field(default_factory=dict)
    scopes: tuple[str, ...] = ()
    custom_resources: Mapping[str, CustomResource] = field(default_factory=dict)
