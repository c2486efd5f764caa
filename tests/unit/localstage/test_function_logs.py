"""Those who follow the logs of functions see each line once."""

from pathlib import Path

from localstage.client.function_logs import NewLines


def test_lines_are_read_once_also_after_a_rotation_and_only_when_complete(tmp_path: Path) -> None:
    log = tmp_path / "PushLive.log"
    log.write_text("before\n")
    new = NewLines(tmp_path)
    seen = []
    for text in ("before\none\ntw", "before\none\ntwo\n", "three\n"):
        log.write_text(text)
        seen.append([line for _, line in new.lines()])

    assert seen == [["one"], ["two"], ["three"]]
