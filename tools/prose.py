"""Checks the prose of the repository: `python -m tools.prose` prints each finding with its place, and exits with 1.

Code: no word of ``AVOIDED`` in a docstring, comment or message. Documentation: also no line over 120 characters, no
sentence over 40 words, and no more words than the limits below. Code blocks are not prose.
"""

from __future__ import annotations

import re
import sys
import tokenize
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parent.parent
CODE = ["[!.]*/**/*.py"]
COMMENTED = ["*.yaml", "templates/*.yaml", "*.toml", "Makefile", "requirements/*.in", "localstage/setup.sh"]
PAGES = ["*.md", "clients/**/*.md", "docs/**/*.md", "tools/api_reference/texts.md"]
WRITTEN_REFERENCE = ["functions.md", "dependencies.md"]
"""The pages of docs/reference that are not generated."""
LINE, SENTENCE, ARCHITECTURE_WORDS = 120, 40, 1_000
PAGES_WORDS, DECISION_WORDS = 22_600, 190
"""Of all pages without the decision records, and of each record: they grow in number, and not in length."""

_BE = r"(?:am|is|are|was|were|be|been|being)"
_SELF = r"(?:itself|themselves|himself|herself|oneself)"
AVOIDED = {
    r"whoever|whomever": "the caller, the user, each client that",
    r"nobody": "no caller, no user, no subscriber",
    r"anew": "again",
    r"of (?:its|their|his|her|one's|your|our) own": "its own ..., separate, independently",
    rf"by {_SELF}": "independently, automatically",
    r"(?:comes?|came|coming) to": "results in, reaches",
    r"(?:stands?|stood|standing) in": "is stored in, is in",
    rf"{_BE} told": "is notified, receives",
    rf"{_BE} away": "is unavailable",
    r"what (?:is|was|are|were) said": "the message",
}
"""A pattern, and what to write instead. A space in it also matches a line break with a comment sign."""
_AVOIDED = re.compile(r"\b(?:" + "|".join(f"({each})" for each in AVOIDED).replace(" ", r"[\s#]+") + r")\b", re.I)
_PROSE_TOKENS = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def avoided(text: str) -> Iterator[tuple[int, str]]:
    """Line and finding of every avoided word."""
    for match in _AVOIDED.finditer(text):
        better = list(AVOIDED.values())[(match.lastindex or 1) - 1]
        found = " ".join(match[0].replace("#", " ").split())
        yield text.count("\n", 0, match.start()) + 1, f'"{found}"; better: {better}'


def python_prose(source: str) -> str:
    """The comments and the strings of several words, each on its line."""
    kept: list[str] = []
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type in _PROSE_TOKENS and " " in token.string:
            first, *others = token.string.splitlines()
            kept += [""] * (token.start[0] - len(kept))
            kept[-1] += (" | " if kept[-1] else "") + first
            kept += others
    return "\n".join(kept)


def page_prose(page: str) -> str:
    """A page without its code, each line in its place."""
    page = re.sub(r"^ *```.*?^ *```", lambda code: "\n" * code[0].count("\n"), page, flags=re.M | re.S)
    return re.sub(r"\]\([^)]*\)", "]", page)


def long_sentences(page: str) -> Iterator[tuple[int, str]]:
    """Line and finding of every sentence that is too long. A list item and a table cell end a sentence."""
    for block in re.finditer(r"(?:^(?!\s*$).*\n?)+", page, re.M):
        for item in re.split(r"\n\s*(?=[-*#>|]|\d+\. )|\|", block[0]):
            for sentence in re.split(r"[.!?][\"')*`\]]*\s", item):
                if len(sentence.split()) > SENTENCE:
                    at = page.index(sentence, block.start())
                    words = sentence.split()
                    yield page.count("\n", 0, at) + 1, f"a sentence of {len(words)} words: {' '.join(words[:6])} ..."


def page_findings(path: Path) -> Iterator[tuple[int, str]]:
    """The findings of one page of documentation."""
    text = path.read_text()
    prose = page_prose(text)
    yield from avoided(re.sub(r"`[^`\n]*`", "``", prose))
    yield from long_sentences(prose)
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LINE:
            yield number, f"a line of {len(line)} characters"


def files(patterns: list[str]) -> list[Path]:
    """The files of the repository that match one of ``patterns``."""
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern)})


def code_findings() -> Iterator[tuple[Path, int, str]]:
    """The findings in code, with path and line."""
    checked = [(path, avoided(python_prose(path.read_text()))) for path in files(CODE)]
    checked += [(path, avoided(path.read_text())) for path in files(COMMENTED)]
    for path, found in checked:
        yield from ((path, line, finding) for line, finding in found)


def pages_findings() -> Iterator[tuple[Path, int, str]]:
    """The findings in the pages of documentation, with path and line."""
    pages = files(PAGES)
    generated = [page for page in pages if page.parent.name == "reference" and page.name not in WRITTEN_REFERENCE]
    written = {page: page_prose(page.read_text()) for page in pages if page not in generated}
    counts = {page: len(re.findall(r"\S*\w\S*", prose)) for page, prose in written.items()}
    for page in pages:
        yield from ((page, line, finding) for line, finding in page_findings(page))
    records = {page for page in counts if page.parent.name == "adr"}
    words_in_all = sum(words for page, words in counts.items() if page not in records)
    if words_in_all > PAGES_WORDS:
        yield ROOT / "docs", 0, f"{words_in_all} words in all; at most {PAGES_WORDS}"
    limits = dict.fromkeys(records - {ROOT / "docs/adr/README.md"}, DECISION_WORDS)
    limits[ROOT / "docs/explanation/architecture.md"] = ARCHITECTURE_WORDS
    for page, limit in limits.items():
        if counts[page] > limit:
            yield page, 0, f"{counts[page]} words; at most {limit}"


def main() -> int:
    """Print every finding; the exit code is 1 if there is one."""
    found = [*code_findings(), *pages_findings()]
    print("\n".join(f"{path.relative_to(ROOT)}:{line}: {finding}" for path, line, finding in found) or "prose: good")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
