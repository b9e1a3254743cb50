"""What an editor offers to do about findings: apply a fix, apply all safe ones, write a comment that ignores it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from lsprotocol import types

from amplint.diagnostics import Diagnostic
from amplint.engine.suppression import ENGINE_CODES
from amplint.engine.suppression_edits import with_comments
from amplint.notebook import CellsCrossed
from amplint.server import findings
from amplint.server.checks import Checked
from amplint.server.client_places import ClientPlaces

FIX_ALL = "source.fixAll.amplint"
"""The kind of the action that applies all safe fixes, as editors name it to have it done on saving."""
_QUICK = types.CodeActionKind.QuickFix
KINDS = (_QUICK, FIX_ALL)


def offered(checked: Checked, places: ClientPlaces, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The actions for a place in a document; that which applies all fixes has no edit yet.

    Args:
        checked: the document.
        places: tells where things are in it.
        params: what the editor asks for.
    """
    wanted = params.context.only
    found: list[types.CodeAction] = []
    if _wants(wanted, _QUICK.value):
        # Some editors name the findings of the whole row beside the place of the cursor.
        named = [each.range for each in params.context.diagnostics if each.source == findings.SOURCE]
        here = findings.at(checked, places, params.text_document.uri, params.range, *named)
        found += [action for finding in here for action in _about(finding, checked, places)]
    if _wants(wanted, FIX_ALL) and any(_is_safe(finding) for finding in checked.report.diagnostics):
        title = "Apply all safe fixes of amplint"
        found.append(types.CodeAction(title, FIX_ALL, data=checked.snapshot.uri))
    return found


def _wants(wanted: Sequence[types.CodeActionKind | str] | None, kind: str) -> bool:
    """Whether an editor that wants some kinds wants this one: each stands for those below it, too."""
    return wanted is None or any(f"{kind}.".startswith(f"{getattr(each, 'value', each)}.") for each in wanted)


def _is_safe(finding: Diagnostic) -> bool:
    return finding.fix is not None and finding.fix.is_applied(unsafe=False)


def _about(finding: Diagnostic, checked: Checked, places: ClientPlaces) -> Iterator[types.CodeAction]:
    shown = [findings.diagnostic(finding, places)]
    fix = finding.fix
    if fix is not None and fix.is_applied() and (text := checked.fixed(finding)) is not None:
        mark = "" if _is_safe(finding) else ", unsafe"
        title = f"{fix.title} ({finding.code}{mark})"
        yield types.CodeAction(title, _QUICK, shown, is_preferred=_is_safe(finding), edit=places.edit(text))
    if checked.source is not None and finding.code not in ENGINE_CODES:
        text = with_comments(checked.source, [finding], own=True)
        with suppress(CellsCrossed):  # a line that only IPython understands takes no comment
            yield types.CodeAction(f"Ignore {finding.code} here", _QUICK, shown, edit=places.edit(text))
