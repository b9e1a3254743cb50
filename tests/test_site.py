"""The documentation builds as a site without a warning, fetches nothing from elsewhere, and its first page is true."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from checkout import ROOT
from program import AMPLINT, environment

FIRST = (ROOT / "docs" / "index.md").read_text("utf-8")
SESSIONS = re.findall(r"^```console\n\$ amplint (.*)\n((?s:.*?))```$", FIRST, re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, built."""
    pytest.importorskip("material", reason="needs mkdocs-material: pip install '.[site]'")
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(built)]
    run = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**environment(), "NO_MKDOCS_2_WARNING": "1"}
    )
    assert run.returncode == 0, run.stderr
    return built


class Fetched(HTMLParser):
    """The addresses from which a page has its scripts, styles and pictures, and those that its links lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See the base class."""
        given = dict(attrs)
        if tag in ("script", "img", "iframe") and given.get("src"):
            self.addresses.append(given["src"] or "")
        if tag == "link" and given.get("rel") in ("stylesheet", "preconnect", "icon"):
            self.addresses.append(given.get("href") or "")
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")


def test_every_page_is_built(site: Path) -> None:
    pages = (ROOT / "docs").rglob("*.md")
    built = {path.parent.relative_to(site).as_posix() for path in site.rglob("index.html")}
    wanted = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in pages}
    assert {page.removesuffix("/index") for page in wanted - {"index"}} <= built


def test_the_navigation_leads_to_every_page() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2].partition("\nplugins:")[0]
    assert pages - set(re.findall(r": ([\w-]+\.md)", navigation)) == set()


def test_the_colours_follow_the_system_until_a_reader_chooses(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    media = re.findall(r'data-md-color-media="([^"]*)"', page)
    assert media[-3:] == ["(prefers-color-scheme)", "(prefers-color-scheme: light)", "(prefers-color-scheme: dark)"]


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = Fetched()
        page.feed(path.read_text("utf-8"))
        assert page.addresses and not [each for each in page.addresses if each.startswith(("http", "//"))], path


def test_links_within_the_site_lead_to_what_is_there(site: Path) -> None:
    followed = set()
    for path in site.rglob("index.html"):
        page = Fetched()
        page.feed(path.read_text("utf-8"))
        for link in page.links:
            parts = urlsplit(link)
            target = path.parent / unquote(parts.path)
            if not (parts.scheme or parts.netloc) and target != path.parent:
                target = target / "index.html" if target.is_dir() else target
                assert target.is_file(), (path, link)
                followed.add(target.name)
    assert {"index.html", "settings-schema.json"} <= followed


def test_links_to_files_that_are_no_pages_lead_nowhere_wrong(site: Path) -> None:
    page = (site / "rules" / "amp101" / "index.html").read_text("utf-8")
    assert "source" in page and "rules/amp101_clip_before_unscale.py" not in page


@pytest.mark.parametrize(("arguments", "shown"), SESSIONS, ids=[arguments for arguments, _ in SESSIONS])
def test_the_first_page_shows_what_amplint_prints(tmp_path: Path, arguments: str, shown: str) -> None:
    if arguments.startswith("verify"):
        pytest.importorskip("torch")
        arguments += " --device cuda-emulated"
    (tmp_path / "train.py").write_text(FIRST.partition("```python\n")[2].partition("```\n")[0], "utf-8")
    command = [*AMPLINT, *arguments.split()]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment(), timeout=300)
    assert run.stdout.partition("\n\n")[0].rstrip("\n") == shown.rstrip("\n")


def test_the_first_page_shows_a_find_a_repair_and_a_proof() -> None:
    assert [arguments.split()[0] for arguments, _ in SESSIONS] == ["--output-format", "--diff", "verify"]
