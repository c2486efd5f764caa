"""Functions are thin, and imports between folders run in one direction."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from ops.runtime import UNUSED
from tests.worlds.tracked import imports, tracked
from tools.python_client.__main__ import generated

ROOT = Path(__file__).parents[2]
LAYER = ROOT / "layers" / "headrace" / "headrace"
FUNCTIONS = tracked(ROOT / "functions", "app.py")
PACKAGES = ["core", "declare", "runtime", "storage", "queues", "api", "health", "live", "streams", "stage"]
PACKAGES += ["services", "delivery", "features", "bootstrap"]
"""The import rule of headrace/__init__.py: a package imports only packages to its left."""

TOP_LEVEL = {
    "headrace": set(),
    "headrace_client": set(),
    "localstage": {"headrace_client"},
    "functions": {"headrace"},
    "loadtest": {"localstage", "headrace", "headrace_client"},
    "ops": {"headrace", "headrace_client", "localstage"},
    "faults": {"headrace", "headrace_client", "localstage", "loadtest"},
    "bench": {"headrace", "headrace_client", "localstage", "loadtest", "ops"},
    "rehearsal": {"localstage", "loadtest", "ops"},
    "tools": {"headrace", "localstage", "loadtest"},
}
"""What the folders of the repository may import of each other."""

PLACES = {"headrace": LAYER, "headrace_client": ROOT / "clients" / "python" / "headrace_client"}
"""Where a folder of ``TOP_LEVEL`` is, if not in the root of the repository."""

AROUND = "localstage loadtest bench tools ops rehearsal faults clients"
BUDGETS = {"layers": 27_000, "layers/headrace/headrace/bootstrap": 500, AROUND: 38_000, "tests": 57_000}
"""At most so many lines of Python are in these folders, without the modules that ``tools/python_client`` writes."""
EXCESS = 5_438
"""The lines that are beyond their budgets, together. This number may only fall."""

PRODUCTS = {
    "boto3": {"runtime"},
    "botocore": {"runtime", "storage/dynamodb", "live/push"},
    "pika": {"queues/rabbitmq"},
    "redis": {"storage"},
}
"""The folders that know a product; everything else knows the port in front of it."""


def folder(path: Path) -> str:
    """The package of the layer that a module is in, with its sub-package if it has one."""
    return "/".join(path.relative_to(LAYER).parent.parts)


MODULES = tracked(LAYER, "*.py")


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: path.parent.name)
def test_a_function_fits_on_one_screen_and_knows_no_adapter(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 50
    assert not {name.split(".")[0] for name in imports(path)} & PRODUCTS.keys()


def backward_imports(path: Path, source: str) -> list[str]:
    """The lines of ``source``, the module at ``path``, that import a package to the right of the module's package."""
    own = folder(path).split("/")[0]
    allowed = {"", own} if own == "" else {*PACKAGES[: PACKAGES.index(own) + 1]}
    lines = source.splitlines()
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}: {lines[node.lineno - 1].strip()}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "headrace"
        for package in [(node.module or "").split(".")[1] if "." in (node.module or "") else node.names[0].name]
        if package not in allowed
    ]


def test_a_package_of_the_layer_imports_only_packages_to_its_left() -> None:
    assert {path.name for path in LAYER.iterdir() if path.is_dir() and path.name != "__pycache__"} == set(PACKAGES)

    assert [line for path in MODULES for line in backward_imports(path, path.read_text())] == []


def test_the_map_of_the_layer_shows_its_packages_in_the_order_of_the_rule() -> None:
    described = (LAYER / "__init__.py").read_text()

    assert re.findall(r"^    (\w+)  ", described, flags=re.M) == list(PACKAGES)


def test_the_delivery_of_all_streams_names_none_of_them() -> None:
    naming = [
        path.name
        for path in tracked(LAYER / "delivery", "*.py")
        if any(each.startswith("headrace.streams.") for each in imports(path))
    ]

    assert naming == []


@pytest.mark.parametrize("name", TOP_LEVEL)
def test_a_folder_of_the_repository_imports_only_what_it_may(name: str) -> None:
    found = {each.split(".")[0] for path in tracked(PLACES.get(name, ROOT / name), "*.py") for each in imports(path)}

    assert (found & {*TOP_LEVEL, "tests"}) - {name} <= TOP_LEVEL[name]


def folder_imports(places: dict[str, Path]) -> dict[str, dict[str, str]]:
    """By folder: the folders that its modules import, each with a module that does. Functions count as modules do."""
    graph: dict[str, dict[str, str]] = {}
    for name, place in places.items():
        for path in tracked(place, "*.py"):
            own = Path(name, path.relative_to(place)).parent.as_posix()
            for module in sorted(imports(path)):
                top, *inner = module.split(".")
                while top in places and inner and not places[top].joinpath(*inner).is_dir():
                    inner.pop()
                imported = "/".join([top, *inner])
                if top in places and imported != own:
                    graph.setdefault(own, {})[imported] = f"{path.relative_to(place.parent)} imports {module}"
    return graph


def cycle_between_folders(places: dict[str, Path]) -> list[str]:
    """The imports of one cycle between folders; empty if there is none. A folder and its sub-folder are two folders."""
    graph = folder_imports(places)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return [graph[folder][imported] for imported, folder in pairwise(cycle)]
    return []


def test_no_folders_of_the_repository_import_each_other_in_a_cycle() -> None:
    assert cycle_between_folders({name: PLACES.get(name, ROOT / name) for name in [*TOP_LEVEL, "tests"]}) == []


def test_only_adapters_import_the_product_behind_a_port() -> None:
    for product, folders in PRODUCTS.items():
        knowing = {folder(path) for path in MODULES if product in {each.split(".")[0] for each in imports(path)}}
        assert knowing <= folders, product


def test_a_package_of_the_layer_has_at_most_16_modules() -> None:
    full = {place for place in {path.parent for path in MODULES} if sum(path.parent == place for path in MODULES) > 16}

    assert not full


def test_what_grows_takes_the_place_of_something_else() -> None:
    """To count a folder, with the modules that are written: git ls-files FOLDER | grep '[.]py$' | xargs cat | wc -l."""
    made = generated()
    texts = {
        folders: [
            text
            for folder in folders.split()
            for path in tracked(ROOT / folder, "*.py")
            if made.get(path) != (text := path.read_text())
        ]
        for folders in BUDGETS
    }
    lines = {folders: sum(len(text.splitlines()) for text in found) for folders, found in texts.items()}
    excess = {folders: max(0, lines[folders] - most) for folders, most in BUDGETS.items()}

    assert sum(excess.values()) <= EXCESS, f"{lines}, beyond the budgets {excess}"


def test_only_one_module_reads_the_environment() -> None:
    reading = [path for path in MODULES if "os.environ" in path.read_text().split('"""', 2)[-1]]

    assert reading == [LAYER / "runtime" / "setting_forms.py"]


PUBLISHING = {"manage_rooms", "receive_frame", "receive_http"}
PAGING = {
    "manage_invitations",
    "manage_rooms",
    "read_ads",
    "read_chat",
    "read_frame",
    "read_streams",
}
VERIFYING = {"authorize_connection", "renew_connection"}
EXPENSIVE: dict[str, AbstractSet[str]] = {
    "boto3": {path.parent.name for path in FUNCTIONS} - {"authorize_connection"},
    "redis": set(),
    "requests": set(),
    **dict.fromkeys(UNUSED, frozenset()),
    "pika": PUBLISHING | {"declare_topology", "read_status", "return_parked", "send_probes"},
    "cryptography": PAGING | VERIFYING,
    "jwt": VERIFYING,
}
"""Packages that slow down a cold start or have no bytecode, and the functions that need them in every environment."""


STARTS = """
import os, sys, {libraries}
for function in sys.argv[1:]:
    if os.fork() == 0:
        sys.path.insert(0, function)
        import app
        print(os.path.basename(function), *sys.modules, flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, function
"""
"""Each function in a fork, beside what all of them import."""


def imported(libraries: str, functions: Iterable[Path], **environ: str) -> dict[str, list[str]]:
    """The modules that each function has imported when it starts, by its name."""
    environ |= {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
    command = [sys.executable, "-c", STARTS.format(libraries=libraries), *map(str, functions)]
    output = subprocess.run(
        command, env={"PYTHONPATH": str(LAYER.parent), **environ}, check=True, capture_output=True, text=True
    ).stdout
    return {function: modules for function, *modules in map(str.split, output.splitlines())}


@pytest.mark.parametrize("libraries", ["pydantic", "pydantic, boto3"])
def test_a_cold_start_imports_nothing_that_the_function_does_not_use(libraries: str) -> None:
    started = [path.parent for path in FUNCTIONS if (path.parent.name in EXPENSIVE["boto3"]) == ("boto3" in libraries)]

    found = imported(libraries, started)

    never = {name: {each for each, using in EXPENSIVE.items() if name not in using} for name in found}
    assert found.keys() == {each.name for each in started}
    assert {name: wrong for name in found if (wrong := never[name] & {*found[name]})} == {}


@pytest.mark.parametrize(("features", "most"), [("all", 9_000), ("none", 8_000)])
def test_storing_loads_few_lines_of_the_layer(features: str, most: int) -> None:
    names = {path: ".".join(path.relative_to(LAYER.parent).with_suffix("").parts) for path in MODULES}

    (modules,) = imported("boto3", [ROOT / "functions" / "persist_events"], STAGE_FEATURES=features).values()

    loaded = [path for path, name in names.items() if name.removesuffix(".__init__") in modules]
    assert 0 < sum(len(path.read_text().splitlines()) for path in loaded) <= most
