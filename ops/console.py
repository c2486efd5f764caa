"""Publishes the console of a stack: its files, what it takes from npm, the client, and where the stack's APIs are."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from headrace_client.cli.doctor_stage import CannotTell
from localstage.gateway.serving import FILE_TYPES
from localstage.services.install import ensure_node_packages
from localstage.services.typescript_client import ensure_typescript_client
from ops.aws import Stack, call

ROOT = Path(__file__).resolve().parents[1]
HTML, JSON = "text/html", "application/json"


def files(state_dir: Path) -> dict[str, Path]:
    """The files of the console by their path at its address."""
    console = ROOT / "console"
    packages = asyncio.run(ensure_node_packages(state_dir, console, "console", "the console's library"))
    client = asyncio.run(ensure_typescript_client(state_dir, ROOT))
    own = [path for path in sorted(console.rglob("*")) if path.suffix in FILE_TYPES and "tests" not in path.parts]
    return {
        "index.html": console / "index.html",
        "headrace-client.js": client / "dist" / "index.min.js",
        "console/htm.js": packages / "htm" / "preact" / "standalone.module.js",
        **{f"console/{path.relative_to(console).as_posix()}": path for path in own},
    }


def config(stack: dict[str, Any]) -> dict[str, Any]:
    """Where the console finds the APIs and the logins, from what CloudFormation says of the stack."""
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
    given = {one["ParameterKey"]: one["ParameterValue"] for one in stack["Parameters"]}

    def login(name: str, url: str, client_id: str, *scopes: str) -> dict[str, Any]:
        urls = {"authorizeUrl": f"{url}/oauth2/authorize", "tokenUrl": f"{url}/oauth2/token"}
        return {"name": name, **urls, "clientId": client_id, "scopes": scopes}

    people = login("people", outputs["SignInUrl"], outputs["ClientId"], "chat:read", "chat:write")
    operators = login("operators", outputs["OperatorSignInUrl"], outputs["OperatorClientId"], "ops")
    urls = {"httpUrl": outputs["HttpUrl"], "wsUrl": outputs["WebSocketUrl"]}
    return {**urls, "scopePrefix": given["ScopePrefix"], "logins": [people, operators]}


def publish(name: str, state_dir: Path = ROOT / ".local") -> str:
    """Put the console into the bucket of a stack; returns its address.

    Raises:
        CannotTell: the stack has no console, or AWS refused.
        ServiceError: npm or the build of the client failed.
    """
    stack = Stack(name).described()
    outputs = (stack or {}).get("Outputs", [])
    found: dict[str, str] = {one["OutputKey"]: one["OutputValue"] for one in outputs}
    if stack is None or "ConsoleBucket" not in found:
        raise CannotTell(f"{name} has no console; deploy it with the parameter Console=on")
    contents = {key: (FILE_TYPES.get(path.suffix, HTML), path.read_bytes()) for key, path in files(state_dir).items()}
    contents["console/config.json"] = (JSON, json.dumps(config(stack)).encode())
    for key, (kind, body) in contents.items():
        answer = {"ContentType": f"{kind}; charset=utf-8", "CacheControl": "no-cache"}
        call("s3", "put_object", Bucket=found["ConsoleBucket"], Key=key, Body=body, **answer)
    return found["ConsoleUrl"]
