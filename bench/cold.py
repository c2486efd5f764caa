"""Measures the cold start of every function beside the same duty written the usual way: ``python -m bench.cold``.

A cold start is the CPU of importing a function's module in a fresh process, which also builds its services, on top of
what Lambda's runtime has imported. Functions and peers take turns; the figures are medians. Secrets are answered by a
server in this process; the broker, the cache and the tables are not called.
"""

from __future__ import annotations

import argparse
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
from pathlib import Path

from localstage.core.model import Function
from localstage.template.attributes import Attributes, Live
from localstage.template.loading import load

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ROOT / "layers"
AIM, AIM_MB = 0.5, 40
DUTIES = {
    "authorize": ("authorize_connection",),
    "connect": ("close_connection", "open_connection", "renew_connection"),
    "operate": (
        "check_health",
        "declare_topology",
        "manage_dead_letters",
        "read_status",
        "return_parked",
        "send_probes",
    ),
    "persist": ("persist_events",),
    "publish": ("manage_invitations", "manage_rooms", "receive_frame", "receive_http"),
    "push": ("push_live",),
    "read": ("read_ads", "read_analytics", "read_conversations", "read_frame", "read_room", "read_ski", "read_user"),
}
"""The functions of each duty, by the name of its peer in ``cold_peers``."""
MEASURE = """
import awslambdaric.bootstrap, sys, time
count, began, wall = len(sys.modules), time.process_time(), time.perf_counter()
import {module}
print(1e3 * (time.process_time() - began), 1e3 * (time.perf_counter() - wall), len(sys.modules) - count)
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


def measure(folder: Path, module: str, variables: dict[str, str]) -> tuple[float, float, int]:
    """Milliseconds of CPU and of time for one import, and the modules that it added."""
    path = f"{LAYERS / 'headrace'}{os.pathsep}{folder}"
    keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1"}
    environment = {**variables, **keys, "PYTHONPATH": path, "PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", MEASURE.format(module=module)]
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    cpu, wall, modules = output.splitlines()[-1].split()
    return float(cpu), float(wall), int(modules)


def layers_megabytes() -> float:
    """The unzipped size of both layers, with the packages that Lambda on arm64 gets."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = LAYERS / "dependencies" / "requirements.txt"
        options = ["--python-platform", "aarch64-manylinux2014", "--python-version", "3.13", "--only-binary", ":all:"]
        command = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet", "--target", folder, *options]
        subprocess.run([*command, "--require-hashes", "-r", str(wanted)], check=True)
        shutil.copytree(LAYERS / "headrace", Path(folder) / "own", ignore=shutil.ignore_patterns("__pycache__"))
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6


def main(rounds: int) -> int:
    """Print the table; 1 if a function misses the aim."""
    with secrets_server() as url:
        found = functions(url)
        unknown = found.keys() ^ {name for names in DUTIES.values() for name in names}
        if unknown:
            raise SystemExit(f"headrace: DUTIES of bench/cold.py does not fit functions/: {', '.join(sorted(unknown))}")
        jobs = {
            **{f"peer {duty}": (ROOT, f"bench.cold_peers.{duty}", {"AWS_ENDPOINT_URL": url}) for duty in DUTIES},
            **{name: (each.code, "app", dict(each.environment)) for name, each in found.items()},
        }
        runs = [{name: measure(*job) for name, job in jobs.items()} for _ in range(rounds + 1)][1:]
    medians = {name: [statistics.median(run[name][at] for run in runs) for at in range(3)] for name in jobs}
    print(f"Python {platform.python_version()}, {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print("| function | usual way | CPU, ms | usual, ms | ratio | modules | usual |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    missed = []
    for duty, names in DUTIES.items():
        usual = medians[f"peer {duty}"]
        for name in names:
            own = medians[name]
            ratio = own[0] / usual[0]
            missed += [name] if ratio > AIM else []
            figures = f"{own[0]:.0f} | {usual[0]:.0f} | {ratio:.2f}× | {own[2]:.0f} | {usual[2]:.0f}"
            print(f"| `{name}` | {duty} | {figures} |")
    size = layers_megabytes()
    print(f"\nlayers unzipped: {size:.1f} MB (aim: at most {AIM_MB}); over {AIM}×: {', '.join(missed) or 'none'}")
    return int(bool(missed) or size > AIM_MB)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.cold", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    sys.exit(main(parser.parse_args().rounds))
