"""The settings that every environment of one function is started with: interpreter, path, variables."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from localstage.core.model import Function

_BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
_VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
_REGION = "us-east-1"


@dataclass(frozen=True)
class PoolSettings:
    """What all functions of a stage share; times in seconds.

    ``layer_paths`` gives, for a layer id, the directory that Lambda would mount as ``/opt`` (with ``python/`` in it)
    or directly one that holds packages; ``runtime_path`` holds awslambdaric and boto3. ``base_environment`` has
    variables for every function, such as ``AWS_REGION`` and keys. ``max_environments`` bounds the processes of one
    function, dedicated ones excepted.
    """

    state_dir: Path
    layer_paths: Mapping[str, Path]
    runtime_path: Path
    base_environment: Mapping[str, str]
    max_environments: int = 2 * (os.cpu_count() or 1)
    init_timeout: float = 10.0
    idle_timeout: float = 600.0

    @property
    def region(self) -> str:
        """The region that the functions see."""
        return self.base_environment.get("AWS_REGION", _REGION)


def bytecode_dir(state_dir: Path) -> Path:
    """Where the functions' bytecode is kept, so that nothing is written beside the user's sources."""
    return state_dir.absolute() / "bytecode"


def bytecode_file(state_dir: Path, source: Path) -> Path:
    """Where the interpreter keeps the bytecode of ``source``."""
    folder = bytecode_dir(state_dir) / str(source.parent.absolute()).lstrip(os.sep)
    return folder / f"{source.stem}.{sys.implementation.cache_tag}.pyc"


def python_command(state_dir: Path) -> list[str]:
    """The interpreter with its standard library only, independent of the stage's environment.

    ``-I -S`` keeps out PYTHON* variables, user and site packages. Lambda's locale is UTF-8, and may be missing here.
    """
    return [sys.executable, "-I", "-S", "-X", "utf8", "-X", f"pycache_prefix={bytecode_dir(state_dir)}"]


def layer_path(function: Function, layer_paths: Mapping[str, Path]) -> list[Path]:
    """The directories that the function's layers add to ``sys.path``.

    Lambda unpacks layers in order into one ``/opt``, the later over the earlier: here the later comes first.
    """
    layers = (layer for layer in reversed(function.layers) if not layer.is_plain)
    mounted = (layer_paths.get(layer.id, layer.content).absolute() for layer in layers)
    return [each / "python" if (each / "python").is_dir() else each for each in mounted]


def command(function: Function, settings: PoolSettings) -> list[str]:
    """The argument list of one environment's process."""
    path = [function.code.absolute(), *layer_path(function, settings.layer_paths), settings.runtime_path.absolute()]
    start = [*python_command(settings.state_dir), str(_BOOTSTRAP), str(os.getpid()), function.id, function.handler]
    return start + [str(each) for each in path]


def variables(function: Function, settings: PoolSettings, runtime_api: str) -> dict[str, str]:
    """All environment variables of one environment's process: the function's own and those that Lambda sets.

    Lambda's reserved ones win over the function's; ``TZ`` and ``LANG`` are the function's to change. A plain layer is
    not copied to ``/opt``: a variable with this value gets the layer's own folder.
    """
    opt = next((str(layer.content.absolute()) for layer in function.layers if layer.is_plain), "/opt")
    reserved = {
        "_HANDLER": function.handler,
        "AWS_DEFAULT_REGION": settings.region,
        "AWS_EXECUTION_ENV": f"AWS_Lambda_python{_VERSION}",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": f"{time.strftime('%Y/%m/%d', time.gmtime())}/[$LATEST]{secrets.token_hex(16)}",
        "AWS_LAMBDA_RUNTIME_API": runtime_api,
        "AWS_REGION": settings.region,
        "LAMBDA_RUNTIME_DIR": str(settings.runtime_path.absolute()),
        "LAMBDA_TASK_ROOT": str(function.code.absolute()),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
    }
    return {
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        **settings.base_environment,
        **{name: opt if value == "/opt" else value for name, value in function.environment.items()},
        **reserved,
    }
