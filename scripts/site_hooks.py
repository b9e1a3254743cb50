"""What `mkdocs build` does to the pages besides: links to files of the repository that are no pages lead to the repository."""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"\[(?P<text>[^\]\n]*)\]\((?P<target>(?:\.\./)+[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")
_BRANCH = "main"


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """The text of a page, with its links out of the documentation changed; called by MkDocs.

    Args:
        markdown: the text of the page.
        page: MkDocs's, for its path below the documentation.
        config: MkDocs's, for the address of the repository; without one such links become plain text.
    """
    folder = posixpath.dirname(page.file.src_uri)

    def rewritten(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", folder, link["target"]))
        if path.startswith("docs/"):
            return link[0]
        if not config.repo_url:
            return link["text"]
        return f"[{link['text']}]({config.repo_url.rstrip('/')}/blob/{_BRANCH}/{path}{link['anchor'] or ''})"

    return _LINK.sub(rewritten, markdown)
