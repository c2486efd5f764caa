"""What one part of a stage tells the next: the services' endpoints to the template, the functions and the triggers."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from localstage.core.atomic_write import write_atomically
from localstage.core.model import ACCOUNT, StageModel
from localstage.functions import FunctionPool
from localstage.gateway.issuer import Issuer
from localstage.services import Endpoints
from localstage.services.aws import SECRET_KEY
from localstage.template import Live
from localstage.triggers import AwsAccess, Triggers

EMULATOR_KEYS = {"AWS_ACCESS_KEY_ID": ACCOUNT, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
"""An emulator regards a key id of twelve digits as the account, so its ARNs are those that the template gives."""


def session_token(state_dir: Path) -> str:
    """The session token that the stage's emulators ask for; kept in a private file.

    Raises:
        StageError: it cannot be written.
    """
    file = state_dir / "session-token"
    if not file.exists():
        write_atomically(file, secrets.token_urlsafe(24))
    return file.read_text()


def base_environment(endpoints: Endpoints) -> dict[str, str]:
    """Variables of every function beside its own: a region and keys, which are valid for emulators only."""
    region = os.environ.get("AWS_REGION") or "us-east-1"
    token = {"AWS_SESSION_TOKEN": endpoints.session_token} if endpoints.session_token else {}
    return {"AWS_REGION": region, "AWS_DEFAULT_REGION": region, **EMULATOR_KEYS, **token}


def triggers_of(
    model: StageModel, pool: FunctionPool, endpoints: Endpoints, environment: Mapping[str, str], folder: Path
) -> Triggers:
    """The mappings and schedules of ``model``, on the services at ``endpoints``; streams' checkpoints in ``folder``."""
    base = f"{endpoints.sqs_url.rstrip('/')}/{ACCOUNT}"
    access = AwsAccess(
        sqs_endpoint=endpoints.sqs_url,
        dynamodb_endpoint=endpoints.dynamodb_url,
        region=environment["AWS_REGION"],
        credentials=(ACCOUNT, SECRET_KEY, environment.get("AWS_SESSION_TOKEN")),
    )
    return Triggers(
        model,
        pool,
        broker_urls=dict(
            zip(model.brokers, [endpoints.amqp_url, *(each.amqp for each in endpoints.further_brokers)], strict=False)
        ),
        queue_urls={id: f"{base}/{queue.name}" for id, queue in model.queues.items()},
        access=access,
        folder=folder,
        returns_by="nack" if os.environ.get("LOCALSTAGE_RETURNS_BY") == "nack" else "reject",
    )


def with_broker_credentials(model: StageModel, endpoints: Endpoints) -> StageModel:
    """``model`` with the credentials that the broker accepts: an external broker may have its own."""
    made, brokers = dict(model.secrets), dict(model.brokers)
    for id, broker in model.brokers.items():
        if (broker.username, broker.password) == (endpoints.broker_username, endpoints.broker_password):
            continue
        brokers[id] = replace(broker, username=endpoints.broker_username, password=endpoints.broker_password)
        credentials = {"username": endpoints.broker_username, "password": endpoints.broker_password}
        for name, secret in model.secrets.items():
            if broker.password in secret.value:
                made[name] = replace(secret, value=json.dumps(credentials))
    return replace(model, secrets=made, brokers=brokers)


def live_values(endpoints: Endpoints, issuer: Issuer, management_url: str, brokers: Iterable[str]) -> Live:
    """What ``Ref``, ``Fn::GetAtt`` and endpoint variables give for services, those ``brokers``, and @connections."""
    cache_host, _, cache_port = endpoints.cache_endpoint.rpartition(":")
    return Live(
        amqp_url=endpoints.amqp_url,
        cache_host=cache_host,
        cache_port=int(cache_port),
        issuer_url=issuer.url,
        dynamodb_url=endpoints.dynamodb_url,
        sqs_url=endpoints.sqs_url,
        s3_url=endpoints.s3_url,
        secrets_manager_url=endpoints.secrets_manager_url,
        management_url=management_url,
        broker_console_url=endpoints.broker_console_url,
        further_brokers=dict(zip(list(brokers)[1:], endpoints.further_brokers, strict=True)),
    )
