"""`amplint report`: one page for a team."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from browser import answer, assert_fits_a_phone
from demo_run import CLEAN, SAFE, UNSAFE, amplint, write

pytestmark = pytest.mark.usefixtures("demo_rules")

HOSTILE = "</script><script>document.title = 'pwned'</script> & more"


def commit(day: int, subject: str, **files: str) -> None:
    write(**files)
    date = f"2026-01-{day:02}T12:00:00Z"
    dates = {**os.environ, "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
    for command in (("init", "-q"), ("add", "."), ("commit", "-q", "--allow-empty", "-m", subject)):
        subprocess.run([*git, *command], check=True, env=dates)


def page(*arguments: str) -> str:
    done = amplint("report", "--html", "page.html", *arguments)
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    return Path("page.html").read_text("utf-8")


def cells(text: str) -> list[list[str]]:
    """The rows of all tables, without markup."""
    rows = re.findall(r"<tr>(.*?)</tr>", re.sub(r"(?s)<script.*?</script>", "", text))
    return [[re.sub(r"<.*?>", "", cell).strip() for cell in re.findall(r"<td>(.*?)</td>", row)] for row in rows]


def test_findings_by_rule_folder_and_file() -> None:
    write(a=SAFE + UNSAFE, sub__b=SAFE, sub__c=SAFE, d=CLEAN)
    text = page()
    assert "<b>4</b>findings" in text and "<b>3</b>of 4 files" in text and "<b>3</b>fixable with --fix" in text
    rows = cells(text)
    assert ["DEM101 demo-safe", "error", "3", "3", ""] in rows
    assert [".", "2", "2", "", "", ""] in rows and ["sub", "2", "2", "", "", ""] in rows
    assert ["2:1", "DEM102", "demo_unsafe is called [unsafe]"] in rows
    assert "script" not in text and "//" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)


def test_the_current_folder_is_called_by_its_name() -> None:
    write(sub__a=SAFE)
    for here in ((), (".",), ("./",)):
        assert f"<p>{Path.cwd().name}</p>" in page(*here)
    assert "<p>sub</p>" in page("sub")


def test_nothing_found() -> None:
    write(a=CLEAN)
    assert "<h2>" not in page()


def test_what_files_say_stays_text() -> None:
    Path("<img src=x>&.py").write_text(SAFE)
    assert "<img" not in page()


def test_over_the_commits_of_a_history() -> None:
    pytest.importorskip("bokeh", reason="the chart needs bokeh: pip install 'amplint[report]'")
    commit(1, "First", sub__a=SAFE, sub__b=CLEAN)
    commit(2, HOSTILE, sub__b=SAFE + UNSAFE)
    commit(3, "Third", sub__a=CLEAN)
    Path("sub/amplint.toml").write_text("broken\n")
    commit(4, "Fourth")
    Path("sub/amplint.toml").unlink()
    text = page("sub", "--history", "9")
    assert "1 finding on 2026-01-01, then 2 on 2026-01-03, over 3 commits" in text
    rows = [row for row in cells(text) if len(row) == 5 and row[1].startswith("2026")]
    assert [row[1:] for row in rows] == [
        ["2026-01-03", "2", "0", "0"],
        ["2026-01-02", "3", "0", "0"],
        ["2026-01-01", "1", "0", "0"],
    ]
    assert "&lt;/script&gt;" in text and HOSTILE not in text
    assert (
        "is left out: not all of it can be checked"
        in amplint("report", "--html", "page.html", "--history", "4", "sub").stderr
    )


def test_the_page_is_drawn_by_a_browser(tmp_path: Path) -> None:
    pytest.importorskip("bokeh", reason="the chart needs bokeh: pip install 'amplint[report]'")
    commit(1, "First", a=SAFE)
    commit(2, HOSTILE, a=SAFE + UNSAFE)
    assert answer(page("--history", "5"), "charts(page) > 0 ? page.title : 'empty'", tmp_path).startswith("amplint: ")


def test_the_page_fits_a_phone(tmp_path: Path) -> None:
    folder = Path("_".join(["a_folder_with_a_long_name"] * 3))
    folder.mkdir()
    (folder / f"{folder}.py").write_text(SAFE + UNSAFE)
    shown = page(str(folder)).replace(" is called", " is called" + 40 * " again")
    assert_fits_a_phone(shown, tmp_path)
    heights = "[...page.querySelectorAll('.listed tr')].map(row => row.cells[1].querySelector('span').getClientRects().length)"
    assert answer(shown, heights, tmp_path, 390) == "1,1", "a code stands in one line"


def test_a_phone_shows_folders_in_few_lines(tmp_path: Path) -> None:
    for name in ("pruned_transducer_stateless", "zipformer_multijoiner_streaming"):
        folder = Path("egs/librispeech/ASR", name)
        folder.mkdir(parents=True)
        (folder / "train.py").write_text(SAFE + UNSAFE)
    lines = "[...page.querySelectorAll('.counts tr td:first-child code')].map(one => one.getClientRects().length)"
    shown = [int(one) for one in answer(page("egs"), lines, tmp_path, 390).split(",")]
    assert len(shown) == 4 and max(shown) <= 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--html", "a.py"), "`--html` would overwrite `a.py`, which is checked"),
        (("--html", "no/page.html"), "no/page.html: cannot be written: No such file or directory"),
        (("--html", "page.html", "--history", "3"), "`--history`: the current folder lies in no git repository"),
        (("--html", "page.html", "--history", "1"), "1 is not in the range x>=2"),
        (("--html", "page.html", "nowhere"), "nowhere: does not exist"),
        ((), "Missing option '--html'"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    pytest.importorskip("bokeh", reason="the chart needs bokeh: pip install 'amplint[report]'")
    write(a=SAFE)
    done = amplint("report", *arguments)
    assert done.exit_code == 2 and said in done.stderr
    assert Path("a.py").read_text() == SAFE
