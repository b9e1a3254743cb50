"""`amplint report`: one page for a team."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
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
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium is installed")
    commit(1, "First", a=SAFE)
    commit(2, HOSTILE, a=SAFE + UNSAFE)
    look = """<script>addEventListener('load', () => setTimeout(() => {
      const drawn = root => [...root.querySelectorAll('*')].reduce(
        (sum, one) => sum + (one.shadowRoot ? drawn(one.shadowRoot) : 0) + (one.tagName == 'CANVAS' && one.width > 99), 0);
      const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
      document.title += drawn(document) ? ' drawn' : ' empty';
      document.title += wide ? ' too wide' : ' fits';
    }, 2000));</script>"""
    Path("look.html").write_text(page("--history", "5").replace("</body>", f"{look}</body>"))
    for width in ("400", "1400"):
        shown = subprocess.run(
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=9000", "--dump-dom",
             f"--window-size={width},900", f"--user-data-dir={tmp_path / width}", "--enable-logging=stderr",
             Path("look.html").absolute().as_uri()],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        console = "\n".join(line for line in shown.stderr.splitlines() if "CONSOLE" in line)
        assert not re.search("(?i)error|refused", console), console
        assert re.search("<title>amplint: .* drawn fits</title>", shown.stdout), re.findall("<title>.*", shown.stdout)


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
