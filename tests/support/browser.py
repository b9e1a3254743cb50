"""Pages are opened in a real browser, and asked there."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

_FRAME = """<!doctype html><body><iframe style="width:{width}px; height:900px; border:0" srcdoc="{page}"></iframe>
<script>addEventListener('load', () => setTimeout(() => {{
  const view = document.querySelector('iframe').contentWindow, page = view.document;
  const charts = root => [...root.querySelectorAll('*')].reduce(
    (sum, one) => sum + (one.shadowRoot ? charts(one.shadowRoot) : 0) + (one.tagName == 'CANVAS' && one.width > 99), 0);
  const overhang = () => page.documentElement.scrollWidth - page.documentElement.clientWidth;
  document.title = {question};
}}, 2000));</script></body>"""
_PHONE = 390


def answer(page: str, question: str, folder: Path, width: int = 1400) -> str:
    """What an expression of JavaScript gives, asked of a page that the browser has drawn without an error.

    Args:
        page: the page, as HTML.
        question: the expression. `view` is the window, `page` its document, `charts(page)` the number of drawings in it,
            `overhang()` by how many pixels it is too wide.
        folder: where the browser may write.
        width: that of the window in pixels.
    """
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium is installed")
    asked = folder / "asked.html"
    asked.write_text(_FRAME.format(width=width, page=html.escape(page), question=question), "utf-8")
    shown = subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=9000",
         "--dump-dom", f"--window-size={width + 100},1000", f"--user-data-dir={folder / 'chromium'}",
         "--enable-logging=stderr", asked.as_uri()],
        capture_output=True, text=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    console = "\n".join(line for line in shown.stderr.splitlines() if "CONSOLE" in line)
    assert not re.search("(?i)error|refused", console), console
    told = re.search("(?s)<title>(.*?)</title>", shown.stdout)
    assert told, shown.stderr
    return html.unescape(told[1])


def assert_fits_a_phone(page: str, folder: Path) -> None:
    """A page asks for no scrolling to the side on a phone.

    Args:
        page: the page, as HTML.
        folder: where the browser may write.
    """
    assert answer(page, "`${view.innerWidth} ${overhang()}`", folder, _PHONE) == f"{_PHONE} 0"


def assert_charts_fit_paper(page: str, folder: Path) -> None:
    """Charts that are drawn for a window are printed no wider than A4, and are as before afterwards.

    Args:
        page: the page, as HTML.
        folder: where the browser may write.
    """
    widths = """['', 'beforeprint', 'afterprint'].map(name => {
      if (name) { view.dispatchEvent(new view.Event(name)); }
      return Math.round(page.querySelector('.chart').getBoundingClientRect().width);
    }).join(' ')"""
    before, printed, after = map(int, answer(page, widths, folder).split())
    assert printed <= 660 < before == after
