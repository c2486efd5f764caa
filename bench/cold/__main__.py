"""Measures the cold start of every function beside the same duty written the usual way: ``python -m bench.cold``.

A cold start is the CPU of importing a function's module in a fresh process, which also builds its services, on top of
what Lambda's runtime has imported. All packages of both sides are compiled before. Functions and peers take turns;
the figures are medians. Secrets are answered by a server in this process; the broker, the cache and the tables are not
called.
"""

from __future__ import annotations

import compileall
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

from bench import ROOT
from bench.rounds import Series, command, head, ratio, row
from localstage.core.model import Function
from localstage.template.attributes import Attributes, Live
from localstage.template.loading import load
from ops.runtime import add_bytecode

LAYERS, PEERS = ROOT / "layers", ROOT / "bench" / "cold" / "peers"
IN_THE_RUNTIME = ("awslambdaric", "boto3", "botocore", "dateutil", "jmespath", "s3transfer", "urllib3")
"""Packages that Lambda's runtime has."""
AIM, AIM_MEAN, AIM_MB = 1.1, 0.9, 40
DUTIES = {
    "authorize": ("authorize_connection",),
    "connect": ("renew_connection", "track_connections"),
    "operate": (
        "check_health",
        "declare_topology",
        "erase_users",
        "manage_connections",
        "manage_dead_letters",
        "manage_erasures",
        "manage_exports",
        "read_status",
        "return_parked",
        "send_probes",
        "tidy_attachments",
        "write_exports",
    ),
    "persist": ("archive_events", "persist_events", "send_webhooks", "tell_others"),
    "publish": ("manage_invitations", "manage_rooms", "receive_frame", "receive_http"),
    "push": ("push_live",),
    "read": ("read_ads", "read_analytics", "read_chat", "read_frame", "read_ski", "read_streams"),
}
"""The functions of each duty, by the name of its peer in ``peers``."""
MEASURE = """
import awslambdaric.bootstrap, time
began = time.process_time()
import {module}
print(1e3 * (time.process_time() - began))
"""


class _Secrets(BaseHTTPRequestHandler):
    """Answers every call with a secret."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b'{"SecretString": "{\\"username\\": \\"u\\", \\"password\\": \\"p\\"}"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def secrets_server() -> Iterator[str]:
    """The URL of a server of secrets."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Secrets)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def functions(url: str) -> dict[str, Function]:
    """Every function of the template, by folder, with the variables that a stage would give it."""
    live = Live("amqp://127.0.0.1:1", "127.0.0.1", 1, url, url, url, url, url, url, url)
    with tempfile.TemporaryDirectory() as state:
        model = load(ROOT / "template.yaml", attributes=Attributes(live), state_dir=Path(state))
    return {function.code.name: function for function in model.functions.values()}


def measure(folders: list[Path], module: str, variables: dict[str, str]) -> float:
    """Milliseconds of CPU for one import."""
    path = os.pathsep.join(map(str, folders))
    keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1"}
    environment = {**variables, **keys, "PYTHONPATH": path, "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", MEASURE.format(module=module)]
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return float(output.splitlines()[-1])


def pack(build: Path, *options: str) -> Path:
    """Both layers as ``sam build`` leaves them, in one folder."""
    python = build / "Layers" / "python"
    wanted = LAYERS / "dependencies" / "requirements.txt"
    command = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet", "--require-hashes"]
    subprocess.run([*command, "--target", str(python), *options, "-r", str(wanted)], check=True)
    shutil.copytree(LAYERS / "headrace", python, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    return python


def layers_megabytes(folder: Path) -> float:
    """The unzipped size of both layers, with the packages that Lambda on arm64 gets, and bytecode."""
    lambda_on_arm = ["--python-platform", "aarch64-manylinux2014", "--python-version", "3.13", "--only-binary", ":all:"]
    python = pack(folder, *lambda_on_arm)
    add_bytecode(folder, sys.executable)
    return sum(path.stat().st_size for path in python.rglob("*") if path.is_file()) / 1e6


def main(rounds: int) -> list[Series]:
    """Print the table, and what misses its aim; returns the ratios."""
    with secrets_server() as url, tempfile.TemporaryDirectory() as temporary:
        deployed = functions(url)
        unknown = deployed.keys() ^ {name for names in DUTIES.values() for name in names}
        if unknown:
            raise SystemExit(f"headrace: DUTIES of bench/cold does not fit functions/: {', '.join(sorted(unknown))}")
        folder = Path(temporary)
        layers = pack(folder / "layers")
        shutil.copytree(PEERS, layers / PEERS.name, ignore=shutil.ignore_patterns("__pycache__"))
        runtime = [Path(str(import_module(name).__file__)).parent for name in IN_THE_RUNTIME]
        for each in [layers, *runtime, *(function.code for function in deployed.values())]:
            compileall.compile_dir(each, quiet=1)
        jobs = {name: ([layers, each.code], "app", dict(each.environment)) for name, each in deployed.items()}
        jobs |= {f"peer {duty}": ([layers], f"peers.{duty}", {"AWS_ENDPOINT_URL": url}) for duty in DUTIES}
        runs = [{name: measure(*job) for name, job in jobs.items()} for _ in range(rounds + 1)][1:]
        size = layers_megabytes(folder / "arm64")
    print(f"Python {platform.python_version()}, {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    head("function", "usual way", "CPU, ms", "usual, ms", "ratio")
    found, missed = list[Series](), []
    for duty, names in DUTIES.items():
        usual = [run[f"peer {duty}"] for run in runs]
        for name in names:
            ours = [run[name] for run in runs]
            found.append(ratio(f"{name}, CPU against {duty} the usual way", ours, usual, "lower"))
            missed += [name] if found[-1].median > AIM else []
            row(
                f"`{name}`",
                duty,
                *(f"{statistics.median(each):.0f}" for each in (ours, usual)),
                f"{found[-1].median:.2f}×",
            )
    mean = statistics.mean(each.median for each in found)
    print(f"\nmean {mean:.2f}× (aim ≤ {AIM_MEAN}×); over {AIM}×: {', '.join(missed) or 'none'}")
    print(f"layers unzipped: {size:.1f} MB (aim: at most {AIM_MB})")
    return found


if __name__ == "__main__":
    command(__doc__, main, 9)
