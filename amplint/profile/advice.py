"""A recommendation in words: which mode pays, what it saves and costs, or why none does."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.profile.modes import BFLOAT16, FLOAT16, FLOAT32, HALF, TF32
from amplint.profile.obstacles import casting, smallness, waiting
from amplint.profile.profile_record import Advice, ModeSummary, ProfileRecord
from amplint.profile.time_saved import LEAST, may_save, saved, saves, steps_to_tell
from amplint.runtime.device_names import CPU, CUDA, EMULATED

_APART = 2.0
"""So many times the distance that other seeds make is no accident of rounding."""
_CLOSE = 0.05
"""Losses that lie no further apart, relative to their mean, train alike, whatever other seeds do."""
_OFTEN = 0.5
"""A scaler that leaves out more than this part of the steps does not settle."""
_MARGIN = 0.9
"""The part of a GPU's memory that a larger batch may count on."""


def advise(record: ProfileRecord) -> Advice:
    """What a profile comes to, in words."""
    plain = record.of(FLOAT32)
    if plain is None or plain.median is None:
        return Advice("", "Nothing was measured.", ())
    if plain.lost:
        why = (
            "Something else than precision is wrong: `amplint trace` finds where the first NaN or infinity comes from."
        )
        return Advice("", "The losses end as NaN or infinity in float32, too.", (why,))
    others = [one for one in record.modes if one.mode != FLOAT32 and one.median is not None]
    if record.stopped and not others:
        return Advice("", "Nothing but float32 was measured.", ())
    if not any(turn.regions for turn in record.turns):
        if elsewhere := next((turn.elsewhere for turn in record.turns if turn.elsewhere), ""):
            return _for_another_device(elsewhere, record)
        why = f"The program enters no `torch.autocast` region for {_type(record)}: there is no precision to choose."
        first = f'Put the forward pass and the loss under `torch.autocast("{_type(record)}")` to compare precisions.'
        return Advice("", why, (first, *(waiting(plain) if record.device != EMULATED else ())))
    warnings = [text for one in record.modes for text in _troubles(one, record)]
    if record.device == EMULATED:
        reasons = [*_emulated(others, record), *(text for one in others for text in _memory(one, plain)), *warnings]
        return Advice("", "Which mode is faster cannot be measured without a GPU.", tuple(reasons))
    fit = [one for one in others if is_fit(one, record)]
    paying = [one for one in fit if saves(one, plain)]
    if not paying:
        what = "AMP" if any(one.mode in HALF for one in others) else "TF32"
        settled = next(waiting(plain), "")
        if not settled and (unclear := _unclear(fit, plain, record)) is not None:
            headline = f"These runs cannot tell whether {what} pays: single steps differ by more than the modes do."
            return Advice(
                "", headline, (*_why_not(record, plain, others, ""), _steps_wanted(unclear, plain, record), *warnings)
            )
        because = settled or next(smallness(record), next(casting(record), ""))
        headline = f"{what} does not pay here: {because}" if because else f"{what} does not pay here."
        return Advice("", headline, (*_why_not(record, plain, others, because), *warnings))
    best = _best(paying)
    return Advice(best.mode, f"Train in {_named(best)}.", (*_why(best, plain, others, record), *warnings))


def _for_another_device(entered: str, record: ProfileRecord) -> Advice:
    why = f"The regions of the program are for {entered}, and it was profiled for {_type(record)}."
    return Advice("", why, (f"`--device {entered}` compares its precisions.",) if entered in (CPU, CUDA) else ())


def is_fit(one: ModeSummary, record: ProfileRecord) -> bool:
    """Whether a mode trains as float32 does.

    Args:
        one: the mode.
        record: the profile.
    """
    return not next(_troubles(one, record), "") and one.median is not None


def _named(one: ModeSummary) -> str:
    if one.mode == FLOAT16:
        return "float16 with a scaler" if one.scaled else "float16 (the program has no scaler)"
    return "TF32, outside of autocast" if one.mode == TF32 else one.mode


def _type(record: ProfileRecord) -> str:
    return CPU if record.device == CPU else CUDA


def _troubles(one: ModeSummary, record: ProfileRecord) -> Iterator[str]:
    """What keeps a mode from training as float32 does."""
    if one.mode == FLOAT32:
        return
    if one.problem:
        yield f"{one.mode} fails: {one.problem}."
    elif one.lost:
        yield f"{one.mode} diverges: its losses end as NaN or infinity. `amplint trace` names the first such value."
    elif one.skipped > _OFTEN * one.tried:
        yield f"{one.mode} does not train: the scaler left out {one.skipped} of {one.tried} steps."
    elif one.distance is not None and one.distance > max(_CLOSE, _APART * (record.noise or 0.0)):
        apart = f"its losses lie {one.distance:.2g} (relative) from those of float32"
        yield f"{one.mode} trains differently: {apart}, {_noise(record)}."
    elif one.mode == BFLOAT16 and record.device == CUDA and one.mode not in record.half:
        yield "This GPU only emulates bfloat16."


def _noise(record: ProfileRecord) -> str:
    if not record.noise:
        return "which other seeds do not change"
    return f"those of float32 with other seeds up to {record.noise:.2g} from each other"


def _best(paying: list[ModeSummary]) -> ModeSummary:
    """The fastest; of those that do not clearly differ the one that asks for least: TF32, then bfloat16."""
    fastest = min(paying, key=lambda one: one.median or 0.0)
    as_fast = [one for one in paying if not saves(fastest, one)]
    return min(as_fast, key=lambda one: (TF32, BFLOAT16, FLOAT16).index(one.mode))


def milliseconds(seconds: float) -> str:
    """A time in words, with three digits."""
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def in_bytes(number: int) -> str:
    """A number of bytes in words."""
    for unit, bytes_ in (("GB", 1e9), ("MB", 1e6)):
        if number >= bytes_:
            return f"{number / bytes_:.3g} {unit}"
    return f"{number / 1e3:.3g} kB"


def _quartiles(one: ModeSummary) -> str:
    assert one.low is not None and one.high is not None
    return f"{milliseconds(one.low)} to {milliseconds(one.high)}"


def _why(best: ModeSummary, plain: ModeSummary, others: list[ModeSummary], record: ProfileRecord) -> Iterator[str]:
    yield (
        f"It saves {saved(best, plain):.0%} of a step's time: {milliseconds(best.median or 0)} instead of "
        f"{milliseconds(plain.median or 0)} (middle half {_quartiles(best)} instead of {_quartiles(plain)})."
    )
    yield from _learning(best, record)
    yield from _costs(best)
    yield from _memory(best, plain)
    yield from _batch(best, record)
    for one in others:
        if one is not best and is_fit(one, record):
            yield f"{one.mode} takes {milliseconds(one.median or 0)}, {_against(one, best)}."
    yield from waiting(best)


def _against(one: ModeSummary, best: ModeSummary) -> str:
    if saves(best, one):
        return "which is more"
    return "which is less, but it asks for more" if saves(one, best) else "no clear difference"


def _learning(one: ModeSummary, record: ProfileRecord) -> Iterator[str]:
    if one.distance is not None:
        over = f"Over {max(len(one.losses), 1)} steps the losses of {one.mode}"
        yield f"{over} lie {one.distance:.2g} (relative) from those of float32, {_noise(record)}."


def _costs(one: ModeSummary) -> Iterator[str]:
    if one.mode == BFLOAT16:
        yield "bfloat16 has the range of float32, so that no scaler is needed; it keeps 8 bits of each number, float16 11."
    elif one.mode == FLOAT16 and one.scaled:
        yield f"float16 needs the scaler, which left out {one.skipped} of {one.tried} steps; it keeps 11 bits, bfloat16 8."
    elif one.mode == FLOAT16:
        yield "The program has no scaler: small gradients become zero in float16. Add one before you train so."
    else:
        yield "TF32 keeps 11 bits of what goes into matrix products and convolutions, and nothing else changes."


def _memory(one: ModeSummary, plain: ModeSummary) -> Iterator[str]:
    if one.kept and plain.kept and one.kept < (1 - LEAST) * plain.kept:
        yield f"For the backward pass {one.mode} keeps {in_bytes(one.kept)} instead of {in_bytes(plain.kept)}."


def _batch(one: ModeSummary, record: ProfileRecord) -> Iterator[str]:
    """How large a batch would fit, if what grows with it is all that is not there between two steps."""
    batch = next((turn.batch for turn in record.turns if turn.batch), 0)
    if record.memory and batch and one.peak and one.resting is not None and one.peak > one.resting:
        fits = int(batch * (_MARGIN * record.memory - one.resting) / (one.peak - one.resting))
        if fits > batch:
            yield (
                f"Its peak of memory is {in_bytes(one.peak)} of {in_bytes(record.memory)} with a first dimension of {batch}: "
                f"about {fits} would fit."
            )


def _unclear(fit: list[ModeSummary], plain: ModeSummary, record: ProfileRecord) -> ModeSummary | None:
    """The mode of which more steps may say that it saves time; a model that is small and no faster is not asked again."""
    is_small = next(smallness(record), "") != ""
    unclear = [one for one in fit if may_save(one, plain) and (not is_small or saved(one, plain) >= LEAST)]
    return max(unclear, key=lambda one: saved(one, plain), default=None)


def _steps_wanted(one: ModeSummary, plain: ModeSummary, record: ProfileRecord) -> str:
    each = -(-steps_to_tell(one, plain) // (10 * record.rounds)) * 10
    return f"{each * record.rounds} steps of each mode are likely to tell (`--steps {each}`), if nothing else uses the machine."


def _why_not(record: ProfileRecord, plain: ModeSummary, others: list[ModeSummary], said: str) -> Iterator[str]:
    """The times, and what may be the reason, but for what has been said."""
    for one in others:
        times = f"a step takes {milliseconds(one.median or 0)} in {one.mode} and {milliseconds(plain.median or 0)} in float32"
        yield f"{times[0].upper()}{times[1:]} (middle half {_quartiles(one)} and {_quartiles(plain)})."
    reasons = [*waiting(plain), *smallness(record), *casting(record)]
    yield from (f"{reason[0].upper()}{reason[1:]}" for reason in reasons if reason != said)
    if record.device == CPU and any(one.mode in HALF and one.mode not in record.half for one in others):
        yield "This CPU has no instructions for that precision: it computes in float32, and casts."


def _emulated(others: list[ModeSummary], record: ProfileRecord) -> Iterator[str]:
    looks = {look.mode: look for look in record.looks}
    for one in [one for one in others if is_fit(one, record)]:
        yield from _learning(one, record)
        calls = looks[one.mode].dtypes if one.mode in looks else {}
        if calls:
            share = calls.get(one.mode, 0) / sum(calls.values())
            skips = f", and the scaler left out {one.skipped} of {one.tried} steps" if one.scaled else ""
            yield f"In {one.mode}, {share:.0%} of what the innermost modules give is {one.mode}{skips}."
