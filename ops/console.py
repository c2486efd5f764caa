"""Publishes the console of a stack: its files, what it takes from npm, the client, and where its API and logins are."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from headrace_client.cli.doctor_stage import CannotTell
from localstage.core.errors import ServiceError
from localstage.gateway.serving import FILE_TYPES
from localstage.services.install import ensure_node_packages, last_line, node_program, real, run
from localstage.services.typescript_client import ensure_typescript_client
from ops.aws import Stack, call

ROOT = Path(__file__).resolve().parents[1]
HTML, JSON = "text/html", "application/json"
LOCAL = re.compile("<!-- The rest is not published. -->.*?(?=</head>)", re.DOTALL)


async def bundle(state_dir: Path) -> dict[str, Path]:
    """The files of the console by their path at its address: as small as they can be, and few, for a long way.

    A file for each view, and files that views share. The page that names them comes last.

    Raises:
        ServiceError: npm, the build of the client or the bundler failed.
    """
    packages = await ensure_node_packages(state_dir, ROOT / "console", "console", "the console's library")
    client = await ensure_typescript_client(state_dir, ROOT)
    folder = real(state_dir / "console-bundle")
    source, made = folder / "source", folder / "console"
    shutil.rmtree(folder)
    shutil.copytree(ROOT / "console", source, ignore=shutil.ignore_patterns("tests"))
    for module in source.rglob("*.js"):
        # The bundler leaves out what only a local stage shows, but it would keep the indentation in templates.
        text = re.sub(r"\n\s+", "\n", module.read_text()).replace("session.isLocal", "false")
        module.write_text(text.replace("/headrace-client.js", "./published-client.js"))
    shutil.copy(packages / "htm" / "preact" / "standalone.module.js", source / "htm.js")
    esbuild = [str(node_program()), str(client / "node_modules" / "esbuild" / "bin" / "esbuild")]
    options = ["main.js", "console.css", "--bundle", "--splitting", "--minify", "--format=esm", "--charset=utf8"]
    options += [f"--alias:headrace-client={client / 'src'}", f"--outdir={made}", "--log-level=warning"]
    code, output = await run([*esbuild, *options], dict(os.environ), source)
    if code != 0:
        raise ServiceError(f"the console could not be bundled: {last_line(output)}")
    shutil.copy(source / "icon.svg", made)
    page = folder / "index.html"
    page.write_text(LOCAL.sub("", (source / "index.html").read_text()))
    files = {path.relative_to(folder).as_posix(): path for path in sorted(made.rglob("*")) if path.is_file()}
    return {**files, page.name: page}


def config(stack: dict[str, Any]) -> dict[str, Any]:
    """Where the console finds the HTTP API and the logins, from what CloudFormation says of the stack."""
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
    given = {one["ParameterKey"]: one["ParameterValue"] for one in stack["Parameters"]}

    def login(name: str, url: str, client_id: str, *scopes: str) -> dict[str, Any]:
        urls = {"authorizeUrl": f"{url}/oauth2/authorize", "tokenUrl": f"{url}/oauth2/token"}
        return {"name": name, **urls, "clientId": client_id, "scopes": scopes}

    people = login("people", outputs["SignInUrl"], outputs["ClientId"], "chat:read", "chat:write")
    operators = login("operators", outputs["OperatorSignInUrl"], outputs["OperatorClientId"], "ops")
    return {"httpUrl": outputs["HttpUrl"], "scopePrefix": given["ScopePrefix"], "logins": [people, operators]}


def publish(name: str, state_dir: Path = ROOT / ".local") -> str:
    """Put the console into the bucket of a stack; returns its address.

    Raises:
        CannotTell: the stack has no console, or AWS refused.
        ServiceError: the files could not be made.
    """
    stack = Stack(name).described()
    outputs = (stack or {}).get("Outputs", [])
    found: dict[str, str] = {one["OutputKey"]: one["OutputValue"] for one in outputs}
    if stack is None or "ConsoleBucket" not in found:
        raise CannotTell(f"{name} has no console; deploy it with the parameter Console=on")
    contents = {"console/config.json": (JSON, json.dumps(config(stack)).encode())}
    for key, path in asyncio.run(bundle(state_dir)).items():
        contents[key] = (FILE_TYPES.get(path.suffix, HTML), path.read_bytes())
    for key, (kind, body) in contents.items():
        answer = {"ContentType": f"{kind}; charset=utf-8", "CacheControl": "no-cache"}
        call("s3", "put_object", Bucket=found["ConsoleBucket"], Key=key, Body=body, **answer)
    return found["ConsoleUrl"]
