"""Compares each utility of Powertools with our own code for the same work: ``python -m bench.powertools``.

Import is the CPU of importing and setting up a utility in a fresh process that has imported the router and our own
code for the same work. All numbers are medians of the rounds, which take turns.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import statistics
import subprocess
import sys
from pathlib import Path

from bench.suite.rounds import Series, add_options, figure, ratio, write

ROOT = Path(__file__).resolve().parent.parent
PYTHON = {**os.environ, "PYTHONPATH": str(ROOT / "layers" / "headrace"), "AWS_DEFAULT_REGION": "us-east-1"}

OURS = """
import json, pathlib, sys, time, headrace.api.router, headrace.aws.client
from dataclasses import replace
from types import SimpleNamespace
from typing import Annotated
from headrace.api.auth import caller_from_claims, caller_from_http
from headrace.api.bodies import http_body
from headrace.api.paging.request import PageRequest
from headrace.api.params import Params, read
from headrace.core.times import SystemClock
from headrace.persist.records import sqs_body
from headrace.queues.ports import rabbit_body
from headrace.runtime.breaker import Breaker
from headrace.runtime.observability import Meter
from headrace.aws.secrets import Secrets
from headrace.runtime.settings import BreakerSettings
class RoomPath(Params): room_id: str
class Body(Params): unknown = ""; message: str; message_id: str
def event(name): return json.loads(pathlib.Path(f"events/{name}.json").read_text())
def no_work(record=None): return record
def page(_, request): return {"room": request.path.room_id, "limit": request.query.limit}
def failed(records):
    for record in records:
        try: no_work(record)
        except Exception: yield {"itemIdentifier": record["messageId"]}
sqs, rabbit, frame = event("persist_events.sqs"), event("persist_events.rabbitmq"), event("receive_frame.sendMessage")
get, post, batch = event("read_room"), event("receive_http.single"), {"Records": sqs["Records"] * 10}
done = lambda *_, **__: {"SecretString": "x"}
client = SimpleNamespace(call=done, get_secret_value=done, get_item=done, put_item=done, update_item=done)
secrets, meter, names = Secrets(lambda: client), Meter(), ("Accepted", "Refused", "Duplicate")
breaker = Breaker("table", BreakerSettings(), lambda answer: False)
route = headrace.api.router.Route(page, scopes=("chat:read",), path=RoomPath, query=PageRequest)
router = headrace.api.router.HttpRouter({get["routeKey"]: route}, dict, SystemClock())
"""

# Blocks: the name of a utility, lines that set it up, its call, our call.
UTILITIES = """
Batch, 10 records
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
processor = BatchProcessor(EventType.SQS)
process_partial_response(batch, no_work, processor)
{"batchItemFailures": list(failed(batch["Records"]))}

Tracer, disabled
from aws_lambda_powertools import Tracer
traced = Tracer(disabled=True).capture_method(no_work)
traced()
no_work()

Parameters, a cached secret
from aws_lambda_powertools.utilities.parameters import SecretsProvider
provider = SecretsProvider(boto3_client=client)
provider.get("arn", max_age=3600)
secrets.text("arn")

RabbitMQEvent, 2 records
from aws_lambda_powertools.utilities.data_classes.rabbit_mq_event import RabbitMQEvent
[(m.redelivered, m.decoded_data) for q in RabbitMQEvent(rabbit).rmq_messages_by_queue.values() for m in q]
[(m["redelivered"], rabbit_body(m)) for q in rabbit["rmqMessagesByQueue"].values() for m in q]

SQSEvent, 10 records
from aws_lambda_powertools.utilities.data_classes import SQSEvent
[(m.body, m.attributes.approximate_receive_count) for m in SQSEvent(batch).records]
[(sqs_body(m), m["attributes"]["ApproximateReceiveCount"]) for m in batch["Records"]]

APIGatewayProxyEventV2, the caller
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
def caller(c): return replace(caller_from_claims(c.authorizer.jwt_claim), address=c.http.source_ip)
caller(APIGatewayProxyEventV2(get).request_context)
caller_from_http(get)

APIGatewayWebSocketEvent, two fields
from aws_lambda_powertools.utilities.data_classes import APIGatewayWebSocketEvent
context = APIGatewayWebSocketEvent(frame).request_context; context.route_key, context.connection_id
context = frame["requestContext"]; context["routeKey"], context["connectionId"]

Parser, an HTTP body
from aws_lambda_powertools.utilities.parser import envelopes, parse
parse(post, Body, envelopes.ApiGatewayV2Envelope)
read(Body, http_body(post))

Idempotency, DynamoDB in no time
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, idempotent_function
layer = DynamoDBPersistenceLayer("Table", boto3_client=client)
once = idempotent_function(no_work, data_keyword_argument="record", persistence_store=layer)
once(record=get)
no_work(get)

Circuit breaker, DynamoDB in no time
from aws_lambda_powertools.utilities.circuit_breaker import circuit_breaker
from aws_lambda_powertools.utilities.circuit_breaker.persistence import CircuitBreakerDynamoDBPersistence
guarded = circuit_breaker("table", CircuitBreakerDynamoDBPersistence("Table", boto3_client=client))(no_work)
guarded()
breaker.call(no_work)

Metrics, 3 counts
from aws_lambda_powertools import Metrics
metrics = Metrics(namespace="Headrace", service="headrace")
[metrics.add_metric(n, "Count", 1) for n in names]; metrics.add_dimension("stream", "chat"); metrics.flush_metrics()
[meter.count(n, stream="chat") for n in names]; meter.flush()

APIGatewayHttpResolver
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
app = APIGatewayHttpResolver()
def parameters(): return app.current_event.query_string_parameters
page = app.get("/rooms/<room_id>/messages")(lambda room_id: {"room": room_id, **parameters()})
app.resolve(get, None)
router(get)

APIGatewayHttpResolver, validating
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler.openapi.params import Query
app = APIGatewayHttpResolver(enable_validation=True)
@app.get("/rooms/<room_id>/messages")
def valid(room_id: str, limit: Annotated[int, Query(ge=1, le=200)]) -> dict: return {"room": room_id, "limit": limit}
app.resolve(get, None)
router(get)
"""


def run(code: str) -> list[float]:
    """The numbers in the last line that ``code`` prints in a fresh process."""
    lines = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=PYTHON, check=True, capture_output=True).stdout
    return [float(number) for number in lines.splitlines()[-1].split()]


def imported(setup: str) -> list[float]:
    """Milliseconds of CPU for ``setup``, and how many modules it imports."""
    before = "count, began = len(sys.modules), time.process_time()"
    return run(f"{OURS}\n{before}\n{setup}\nprint(1e3 * (time.process_time() - began), len(sys.modules) - count)")


def called(setup: str, calls: list[str], rounds: int) -> list[list[float]]:
    """Microseconds of each of ``calls`` per round. They take turns."""
    timed = (
        f"[timeit.timeit(call, globals=globals(), number=500) / 500 * 1e6 for _ in range({rounds}) for call in calls]"
    )
    found = run(f"import timeit\n{OURS}\n{setup}\ncalls = {calls!r}\nseen = {timed}\nprint('\\n', *seen)")
    return [found[number :: len(calls)] for number in range(len(calls))]


def main(rounds: int) -> list[Series]:
    """Print the table; returns its numbers."""
    blocks = [block.splitlines() for block in UTILITIES.strip().split("\n\n")]
    imports = [[imported("\n".join(block[1:-2])) for block in blocks] for _ in range(rounds)]
    print(f"Powertools {importlib.metadata.version('aws-lambda-powertools')}, load {os.getloadavg()[0]:.1f}")
    found = []
    print("| utility | import, ms | modules | call, µs | ours, µs |\n| --- | --- | --- | --- | --- |")
    for (name, *setup, theirs, ours), costs in zip(blocks, zip(*imports, strict=True), strict=True):
        spent, modules = (statistics.median(column) for column in zip(*costs, strict=True))
        calls = called("\n".join(setup), [theirs, ours], rounds)
        theirs, ours_ = (f"{statistics.median(times):.1f}" for times in calls)
        print(f"| {name} | {spent:.1f} | {modules:.0f} | {theirs} | {ours_} |", flush=True)
        found += [figure(f"{name}, import", [cost[0] for cost in costs], "ms"), figure(name, calls[1], "µs")]
        if not ours.startswith("no_work"):  # nothing has no ratio
            found.append(ratio(f"{name}, call against Powertools", calls[1], calls[0], "lower"))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, 9)
    options = parser.parse_args()
    write(main(options.rounds), options.json)
