"""S3 of the local stage that asks for a session token, and its client with the credentials of a function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.config import Config
from botocore.session import Session

from localstage.core.model import ACCOUNT
from localstage.services.aws import SECRET_KEY
from tests.contract.emulators import Emulators

TOKEN = "the-token-of-the-stage"


@pytest.fixture(name="stage", scope="module")
def stage_of_objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulators]:
    """Emulators that ask for a session token, as those of a stage do."""
    emulators = Emulators(tmp_path_factory.mktemp("objects"), TOKEN)
    try:
        emulators.start()
        yield emulators
    finally:
        emulators.stop()


def client(url: str, secret: str = SECRET_KEY) -> Any:
    """A client of S3 with the credentials of a function, and the options of the layer's."""
    config = Config(signature_version="s3v4", s3={"addressing_style": "virtual"}, retries={"total_max_attempts": 1})
    return Session().create_client(
        "s3",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key=secret,
        aws_session_token=TOKEN,
        config=config,
    )
