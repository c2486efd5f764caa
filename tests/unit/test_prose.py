"""What `python -m tools.prose`, a part of `make lint`, finds. The avoided words are put together here."""

from pathlib import Path

from tools.prose import avoided, page_findings, python_prose

ITS_OWN, NO_ONE, TOLD = "of its\nown", "no" + "body", "is " + "told"


def test_an_avoided_word_is_found_in_comments_docstrings_and_messages() -> None:
    source = f'"""A room {ITS_OWN}."""\n\n{NO_ONE} = 1  # read by {NO_ONE}\nraise ValueError("the cache {TOLD}")\n'

    assert [(line, finding.split(";")[0]) for line, finding in avoided(python_prose(source))] == [
        (1, '"{}"'.format(ITS_OWN.replace("\n", " "))),
        (4, f'"{NO_ONE}"'),
        (5, f'"{TOLD}"'),
    ]


def test_a_page_has_no_long_line_no_long_sentence_and_no_avoided_word(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\nRedis {TOLD}.\n\n{'word ' * 25}\n{'word ' * 25}end.\n\n{'w' * 121}\n")

    assert [(line, finding.split(":")[0].split(";")[0]) for line, finding in page_findings(page)] == [
        (3, f'"{TOLD}"'),
        (5, "a sentence of 51 words"),
        (5, "a line of 125 characters"),
        (6, "a line of 129 characters"),
        (8, "a line of 121 characters"),
    ]


def test_code_in_a_page_is_no_prose(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"Run:\n\n```sh\necho {NO_ONE}\n```\n\nThe variable `{NO_ONE}` is set.\n")

    assert list(page_findings(page)) == []
