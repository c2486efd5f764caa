"""RabbitMQ, Redis and the emulators for a benchmark: started as the local stage starts them, with empty data."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from localstage.services import Endpoints, Services

STATE = Path(__file__).resolve().parent.parent / ".local" / "bench"


@asynccontextmanager
async def running() -> AsyncIterator[Endpoints]:
    """Start them, and point this process's AWS clients to the emulators."""
    # Data of earlier runs would change the measurement. Installed packages are kept.
    shutil.rmtree(STATE / "services", ignore_errors=True)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LOCALSTAGE_")}
    services = Services(STATE, broker_username="bench", broker_password="bench", environ=environ)
    endpoints = await services.start()
    os.environ.update(
        AWS_DEFAULT_REGION="us-east-1",
        AWS_ACCESS_KEY_ID="000000000000",
        AWS_SECRET_ACCESS_KEY="bench",
        AWS_EC2_METADATA_DISABLED="true",
        AWS_ENDPOINT_URL_DYNAMODB=endpoints.dynamodb_url,
        AWS_ENDPOINT_URL_SQS=endpoints.sqs_url,
        AWS_ENDPOINT_URL_SECRETS_MANAGER=endpoints.secrets_manager_url,
    )
    try:
        yield endpoints
    finally:
        await services.stop()
