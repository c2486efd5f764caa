"""Every path, name, command and link that the docs mention exists."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.unit.template_stack import ROOT
from tests.worlds.tracked import tracked

PACKAGE = ROOT / "layers" / "headrace" / "headrace"
BASES = (ROOT, PACKAGE.parent, PACKAGE, ROOT / "tests" / "unit", ROOT / "examples")
PAGES = [*(path for path in tracked(ROOT, "*.md") if path.parent == ROOT), *tracked(ROOT / "docs", "*.md")]
COMMENTED = [ROOT / name for name in ("Makefile", "template.yaml", "samconfig.toml")]
COMMENTED += tracked(ROOT / "templates", "*.yaml")
FOLDERS = ("layers", "functions", "localstage", "loadtest", "faults", "bench", "ops", "clients", "tests", "templates")
FOLDERS += ("tools",)
ELSEWHERE = {"json.tool", "json.load", "token.actions.githubusercontent.com", "live.signals", "ChatResult"}
ELSEWHERE |= {"AdministratorAccess", "CloudWatchReadOnlyAccess", "GetMetricData", "ListMetrics", "public.ecr.aws"}
ELSEWHERE |= {"BrokerInstances", "EventSourceMappings", "MaxWriteRequestUnits", "UserAttributes", "PersistQueuesInUse"}
ELSEWHERE |= {"FilteredOutEventCount", "StateUpdate", "FieldSelectors", "StartsWith", "NotStartsWith", "eventCategory"}
"""Names of GitHub and Python, of AWS's answers and metrics, of queues, and of parameters that a release has removed."""

PATH = re.compile(
    r"(?<![\w/.:*$>-])(?!\.local)((?:[\w.*-]+/)*[\w.*-]+\.(?:py|md|json|yaml|toml|sh)\b|(?:[\w.-]+/)+(?![\w:{*]))"
    rf"|(?<![\w/.-])((?:headrace|{'|'.join(FOLDERS)})/[\w/.-]*\w)(?![\w/:*<])"
)
DOTTED = re.compile(r"(?<![\w/.@-])[a-z_]+(?:\.\w\w+)+\b(?!/)")
NAME = re.compile(r"(?<![\w./@-])(?=\w*[a-z])(?:[A-Za-z]+_\w+|[A-Za-z][a-z]+[A-Z]\w+)(?![\w/.])")
COMMAND = re.compile(r"(?:^|[`(]|: )make (?:-s )?([a-z][\w-]*)", re.M)
RULES = dict(re.findall(r"^(?:start )?([\w-]+):((?:.*\n)(?:\t.*\n)*)", (ROOT / "Makefile").read_text(), re.M))


def code(page: Path) -> str:
    """The code of a Markdown page, and all of another file, without what is new: changes, modules and random ids."""
    text = re.sub(r"^```(?:diff|js|python)\n.*?^```$", "", page.read_text(), flags=re.M | re.S)
    text = re.sub(r'"(?:connectionId|correlationId|next|previous)": "[^"]*"', "", text)
    spans = re.findall(r"```\w*\n(.*?)```|`([^`\n]+)`", text, re.S)
    return "\n".join(map("".join, spans)) if page.suffix == ".md" else page.read_text()


def exists(page: Path, path: str) -> bool:
    found = any(any(base.glob(name)) for base in (page.parent, *BASES) for name in (path, f"{path}.in"))
    return found or ("/" not in path.rstrip("/") and any(ROOT.glob(f"[!.]*/**/{path}")))


@cache
def words(pattern: str, *folders: str) -> set[str]:
    """The words of the files that match, with the parts of their paths."""
    kinds = (".py", ".cjs", ".ts", ".yaml")
    files = [path for each in folders for path in tracked(ROOT / each) if path.suffix in kinds]
    files = [path for path in files if path.match(pattern)]
    files = [path for path in files if path != Path(__file__)] + COMMENTED * (pattern == "*.*")
    return {word for path in files for word in [path.stem, *path.parts, *re.findall(r"\w+", path.read_text())]}


def is_known(name: str) -> bool:
    """Whether the module that it begins with has its last part, or else the code has all of its parts."""
    *module, last = name.split(".")
    in_module = words("/".join(module) + ".py", "layers", "clients") if module else set()
    known = {*module, last} <= ELSEWHERE | words("*.*", *FOLDERS)
    return name in ELSEWHERE or last in in_module or (not in_module and known)


@pytest.mark.parametrize("page", [*PAGES, *COMMENTED], ids=lambda page: page.name)
def test_every_path_name_and_command_in_it_exists(page: Path) -> None:
    text = code(page)
    paths = {"".join(groups) for groups in PATH.findall(text)}
    wrong = [path for path in paths if not exists(page, path)]
    wrong += [f"make {target}" for target in COMMAND.findall(text) if target not in RULES]
    for module in re.findall(r"(?:PY\)|python) -m (?!pytest|locust)([\w.]+)", text):
        files = [module.replace(".", "/") + end for end in (".py", "/__main__.py", "/__init__.py")]
        folders = (ROOT, ROOT / "clients" / "python")
        wrong += [] if any((folder / file).exists() for folder in folders for file in files) else [module]
    if page.suffix == ".md":
        wrong += [name for name in {*DOTTED.findall(text), *NAME.findall(text)} - paths if not is_known(name)]
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_page_and_its_heading(page: Path) -> None:
    text = re.sub(r"^```diff\n.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for path, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
        target = page.parent / path
        assert target.exists(), path
        titles = re.findall(r"^#+ (.+)$", (target if path else page).read_text(), re.M) if anchor else []
        assert not anchor or anchor in {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in titles}


def test_the_table_of_functions_leads_from_each_name_to_its_handler() -> None:
    page = (ROOT / "docs" / "reference" / "functions.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([\w, ]+) \| `([\w/.]+)` (.+?) \|", page, re.M)
    assert [row[0] for row in rows] == [path.parent.name for path in tracked(ROOT / "functions", "app.py")]
    for function, word, path, handlers in rows:
        app = (ROOT / "functions" / function / "app.py").read_text().replace("_", "")
        assert (word.split(", ")[0] in function, word.split(", ")[-1] in path + handlers) == (True, True), function
        for name in re.findall(r"\w+", handlers):
            assert name.replace("_", "").lower() in app
            assert re.search(rf"^(?:def|class) {name}\b", (PACKAGE / path).read_text(), re.M), f"{name} in {path}"
