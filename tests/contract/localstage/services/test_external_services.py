"""External services are checked before use."""

from __future__ import annotations

from pathlib import Path

import pytest

from localstage.core.errors import ServiceError
from localstage.services import Services, external_services
from localstage.services.services import BROKER_NODES
from tests.worlds.ports import free_port


def services(tmp_path: Path, environ: dict[str, str]) -> Services:
    return Services(tmp_path, broker_username="headrace", broker_password="secret", environ=environ)


async def test_an_unavailable_external_service_is_named_with_its_variable() -> None:
    port = free_port()
    checks = {
        "RABBITMQ": external_services.check_rabbitmq(f"amqp://guest:guest@127.0.0.1:{port}", "user", "password"),
        "REDIS": external_services.check_redis(f"redis://guest:guest@127.0.0.1:{port}"),
        "SQS": external_services.check_http("SQS", "LOCALSTAGE_SQS_URL", f"http://guest:guest@127.0.0.1:{port}"),
    }
    for name, check in checks.items():
        with pytest.raises(ServiceError, match=f"127.0.0.1:{port}, where LOCALSTAGE_{name}_URL points") as refusal:
            await check
        assert "guest" not in str(refusal.value)


async def test_several_external_brokers_need_a_url_each(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="has 2 URLs, and the stage needs 1"):
        await services(tmp_path, {})._external_brokers("amqp://127.0.0.1:1;amqp://127.0.0.1:2")


def test_several_brokers_are_no_cluster(tmp_path: Path) -> None:
    two = Services(tmp_path, broker_username="u", broker_password="p", environ={BROKER_NODES: "3"}, brokers=2)

    with pytest.raises(ServiceError, match="several nodes or several brokers: leave out NODES or BROKERS"):
        two._nodes(Path("rabbitmq-server"))


async def test_a_url_without_a_host_is_refused_with_an_example() -> None:
    with pytest.raises(ServiceError, match=r"such as scheme://user:password@127\.0\.0\.1:5672"):
        await external_services.check_rabbitmq("localhost:5672", "user", "password")
