"""What may import what: functions stay thin, and the layer's imports run in one direction."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYER = ROOT / "layers" / "headrace" / "headrace"
FUNCTIONS = sorted((ROOT / "functions").glob("*/app.py"))
ADAPTERS = {"boto3", "botocore", "pika", "redis"}
ADAPTER_MODULES = {
    "runtime.aws",
    "storage.redis",
    "dead_lane.sqs",
    "runtime.secrets",
    "api.tokens",
    "topology",
    "broker.cast",
    "broker.depths",
    "broker.link",
    "broker.turned",
    "broker.parked",
    "broker.pika_errors",
    "broker.rabbitmq",
    "storage.dynamodb.client",
    "retry_lane.sqs",
}


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{name.name}" for name in node.names}
    return found


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(LAYER.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in LAYER.rglob("*.py")}


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: path.parent.name)
def test_a_function_fits_on_one_screen_and_knows_no_adapter(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 50
    assert not {name.split(".")[0] for name in imports(path)} & ADAPTERS


def test_imports_in_the_layer_run_in_one_direction() -> None:
    graph = {
        name: {each for each in imports(path) & MODULES.keys() if each != name and not name.startswith(f"{each}.")}
        for name, path in MODULES.items()
    }

    assert list(TopologicalSorter(graph).static_order())


def test_only_adapters_know_what_is_behind_a_seam() -> None:
    knowing = {
        name.removeprefix("headrace.")
        for name, path in MODULES.items()
        if {each.split(".")[0] for each in imports(path)} & ADAPTERS
    }

    assert knowing <= ADAPTER_MODULES


def test_only_settings_reads_the_environment() -> None:
    reading = {name for name, path in MODULES.items() if "os.environ" in path.read_text().split('"""', 2)[-1]}

    assert reading <= {"headrace.runtime.settings"}


@pytest.mark.parametrize(
    ("function", "never"),
    [
        ("receive_frame", {"boto3", "redis", "requests", "aws_lambda_powertools.event_handler"}),
        ("receive_http", {"boto3", "redis", "requests", "aws_lambda_powertools.event_handler"}),
        ("persist_events", {"boto3", "pika", "redis", "aws_lambda_powertools.event_handler"}),
        ("declare_topology", {"boto3", "redis", "aws_lambda_powertools.event_handler"}),
        ("send_probes", {"boto3", "redis", "interlock", "aws_lambda_powertools.event_handler"}),
        ("push_live", {"boto3", "pika", "redis", "requests", "aws_lambda_powertools.event_handler"}),
        ("read_frame", {"boto3", "pika", "redis", "aws_lambda_powertools.event_handler"}),
        ("read_analytics", {"boto3", "pika", "redis", "aws_lambda_powertools.event_handler"}),
        ("read_ski", {"boto3", "pika", "redis", "aws_lambda_powertools.event_handler"}),
        ("read_ads", {"boto3", "pika", "redis", "aws_lambda_powertools.event_handler"}),
        ("read_status", {"boto3", "redis", "aws_lambda_powertools.event_handler"}),
    ],
)
def test_a_cold_start_imports_nothing_that_the_function_does_not_use(function: str, never: set[str]) -> None:
    code = "import sys, app; print(*sys.modules)"
    folder = ROOT / "functions" / function
    path = {"PYTHONPATH": f"{LAYER.parent}:{folder}", "AWS_DEFAULT_REGION": "us-east-1"}

    output = subprocess.run([sys.executable, "-c", code], env=path, check=True, capture_output=True, text=True).stdout

    assert not set(output.split()) & never
