"""Prepares the documentation site: `python -m tools.site` writes its pages and configuration to .local/site.

Links out of docs/ lead to copies: README.md is the first page, code has a page that shows it. Links to folders are
removed.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SITE = ROOT / ".local" / "site"
PAGES = SITE / "pages"
COPIED = (".md", ".svg", ".png", ".json", ".css", ".html")
AT_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".json": "json", ".sh": "sh"}
LINK = re.compile(r"\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")
SECTIONS = {"How-to": "how-to", "Reference": "reference", "Explanation": "explanation"}
FIRST = ("architecture.md", "promises.md", "fault-scenarios.md")
"""The order of explanations; other pages follow by name."""
CONFIG: dict[str, Any] = {
    "site_name": "Headrace",
    "site_description": "A serverless ingestion and query platform for streams of small events, on AWS",
    "docs_dir": "pages",
    "site_dir": "html",
    "use_directory_urls": False,
    "extra_css": ["site.css"],
    "theme": {
        "font": False,  # nothing is loaded from other hosts
        "features": ["navigation.sections", "navigation.top", "content.code.copy", "search.highlight", "toc.follow"],
        "palette": [
            {
                "media": "(prefers-color-scheme: light)",
                "scheme": "default",
                "toggle": {"icon": "lucide/sun", "name": "Dark mode"},
            },
            {
                "media": "(prefers-color-scheme: dark)",
                "scheme": "slate",
                "toggle": {"icon": "lucide/moon", "name": "Light mode"},
            },
        ],
    },
    "markdown_extensions": ["tables", "toc", "attr_list", "md_in_html", "pymdownx.superfences", "pymdownx.highlight"],
}


def place(path: Path) -> Path | None:
    """The page of the site for a file of the repository; ``None`` for a folder."""
    name = str(path.relative_to(ROOT))
    if name in AT_ROOT:
        return PAGES / AT_ROOT[name]
    if path.is_relative_to(DOCS) and path.suffix in COPIED:
        return PAGES / path.relative_to(DOCS)
    return None if path.is_dir() else PAGES / "source" / f"{name}.md"


def copy_page(path: Path) -> None:
    """Copy a page with its links changed, and show the code that it links to."""
    at = PAGES / AT_ROOT.get(path.name, "") if path.parent == ROOT else PAGES / path.relative_to(DOCS)

    def link(found: re.Match[str]) -> str:
        target = (path.parent / found[2]).resolve()
        page = place(target)
        if page is None or not target.exists():
            return found[0] if page else found[1]  # a broken link stays, so that the build reports it
        if "source" in page.relative_to(PAGES).parts:
            show_code(target, page)
        return f"[{found[1]}]({os.path.relpath(page, at.parent)}{found[3] or ''})"

    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_text(LINK.sub(link, path.read_text()))


def show_code(path: Path, page: Path) -> None:
    """Write a page with the text of a file, excluded from the search."""
    page.parent.mkdir(parents=True, exist_ok=True)
    head = "---\nsearch:\n  exclude: true\n---\n"
    page.write_text(f"{head}\n# {path.name}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text()}````\n")


def navigation() -> list[Any]:
    """The menu, with the sections in the order of ``SECTIONS``."""

    def order(page: Path) -> tuple[int, str]:
        return (FIRST.index(page.name) if page.name in FIRST else len(FIRST), page.name)

    menu: list[Any] = ["index.md", "tutorial.md"]
    for title, folder in SECTIONS.items():
        pages = sorted((DOCS / folder).glob("*.md"), key=order)
        menu.append({title: [str(page.relative_to(DOCS)) for page in pages]})
    menu += ["adr/README.md", "benchmarks.md", "gallery.md", "contributing.md", "changelog.md"]
    return [each for each in menu if isinstance(each, dict) or (PAGES / each).exists()]


def main() -> None:
    """Write the pages and the configuration."""
    shutil.rmtree(SITE, ignore_errors=True)
    for path in sorted(DOCS.rglob("*")):
        if path.suffix == ".md":
            copy_page(path)
        elif path.suffix in COPIED:
            target = PAGES / path.relative_to(DOCS)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    for name in AT_ROOT:
        if name != "README.md" and (ROOT / name).exists():
            copy_page(ROOT / name)
    (SITE / "mkdocs.yml").write_text(yaml.safe_dump(CONFIG | {"nav": navigation()}, sort_keys=False))


if __name__ == "__main__":
    main()
