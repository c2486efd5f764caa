"""Builds the TypeScript client: the module that a page imports, and the package."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from localstage.core.errors import ServiceError
from localstage.services.install import ensure_node_packages, last_line, node_program, once, real, run

_BUILT = ("node_modules", "dist", "generated")


async def ensure_typescript_client(state_dir: Path, project: Path) -> Path:
    """Build ``clients/typescript`` of ``project`` in ``state_dir/typescript-client``; returns that folder.

    Its ``dist/index.min.js`` is the client as one small ES module. It is built once for each state of its sources.

    Raises:
        ServiceError: npm or the build failed; the message has the last line.
    """
    source, reference = project / "clients" / "typescript", project / "docs" / "reference"
    packages = await ensure_node_packages(state_dir, source, "typescript-client", "the TypeScript client's tools")
    folder = packages.parent
    files = [path for path in sorted(source.rglob("*")) if path.is_file() and not {*path.parts}.intersection(_BUILT)]
    descriptions = [reference / "openapi.json", reference / "asyncapi.json"]
    async with once(real(folder / "build"), [*files, *descriptions]) as needed:
        if needed:
            for name in ("src", "tests"):
                shutil.rmtree(folder / name, ignore_errors=True)
            shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*_BUILT))
            command = [str(node_program()), "build.mjs", str(reference.resolve())]
            code, output = await run(command, dict(os.environ), folder)
            if code != 0:
                raise ServiceError(f"the TypeScript client could not be built: {last_line(output)}")
            (folder / "build" / "log").write_text(output)
    return folder
