"""What a page says whatever was measured."""

from __future__ import annotations

from amplint.runtime.verdict import (
    ADDED,
    CONFIRMED,
    ERROR,
    NOT_OBSERVABLE,
    NOT_REPLAYABLE,
    PARTLY,
    REFUTED,
    REMOVED,
    STANDS,
)

MEANINGS = {
    CONFIRMED: "the defect was measured before the fix, is gone after it, and nothing else was found to have changed",
    PARTLY: "some of the defect is gone after the fix; what remains is named",
    REFUTED: "the measurement contradicts the finding or its fix",
    ADDED: "the finding was not there before the patch",
    STANDS: "the finding is there after the patch as it was before",
    REMOVED: "the code that the finding was about is gone, so that there is nothing to replay",
    NOT_OBSERVABLE: "what the finding is about shows on another kind of device only",
    NOT_REPLAYABLE: "the code does something that amplint cannot replay; the reason says what",
    ERROR: "the replay itself failed, so that nothing is known",
}

METHOD = (
    "<p>The steps of the code that have to do with mixed precision (forward, scale, backward, unscale, clip, step, update,"
    " schedule) are taken in the order of the code, along a path that shows the defect, for several iterations, by real"
    " PyTorch optimizers, scalers and schedulers with the literals of the code. Instead of the model there are two small"
    " layers with seeded weights and batches. In one iteration a gradient is made to overflow, which a scaler has to"
    " skip: it is no point of a plot of norms. <b>Before</b> is the code as it stands; <b>after</b> is the text with the fix,"
    " read anew; <b>reference</b> is the same training in float32 without a scaler, each step taken once and right. A fix is"
    " confirmed when after agrees with reference and before does not. Other rules measure an object or an expression by"
    " itself; what was measured stands beside each finding.</p>"
)
_SMALL = " Real PyTorch objects and small seeded data take the place of the author's; the author's code itself was not run.</p>\n"
FIXES = (
    "<h1>Do the fixes hold?</h1>\n<p>Each finding that amplint can replay was replayed twice: with the code as it"
    f" stands, and with the fix of that finding applied.{_SMALL}"
)
PATCH = (
    "<h1>What does the patch do?</h1>\n<p>Each finding in the code as it was, was replayed twice: before the patch, and after"
    f" it.{_SMALL}"
)
