"""The vocabulary: what a training program does to scalers, optimizers, schedulers, regions and gradients.

Both witnesses speak it: the static one lowers source code to a graph of these events (`amplint.model.event_graph`), the runtime
one records them from real torch calls. Everything here is plain data.

Objects and values are named by *references*: access paths such as `scaler`, `self.scaler`, `optimizers[*]`. A module's own
variables begin with `::`. An empty reference means "some object that could not be told".
A *site* is the number under which a witness files the place of an event.
"""

from __future__ import annotations

from amplint.model.records import frozen

GLOBAL = "::"
"""Prefix of references to module-level variables."""

GRADIENT = "?.grad"
"""The reference of some gradient that could not be told."""


@frozen
class Region:
    """What an autocast context asks for.

    `device` is a device type ("cuda"), `dtype` a name of torch ("float16", the device's default filled in; "half" where a run
    chooses float16 or bfloat16), each "?" when unknown. `enabled` is "yes", "no", or "maybe" for a flag; `cached` is whether
    weights are cast only once; `widens`, whether it is that of a library which makes float32 of what the models that it has
    prepared give back. A region without gradients (`no_grad`) is also one, with device "grad" and enabled "no".
    """

    device: str
    dtype: str
    enabled: str
    cached: bool = True
    widens: bool = False

    @property
    def lowers(self) -> bool:
        """Whether operations inside may run in half precision."""
        return self.device != "grad" and self.enabled != "no" and self.dtype in ("float16", "bfloat16", "half", "?")

    @property
    def may_be_float16(self) -> bool:
        """Whether operations inside run in float16, or do so where a run chooses it on a device that is known."""
        return self.dtype == "float16" or (self.dtype == "half" and self.device not in ("?", "cpu"))


NO_GRAD = Region("grad", "", "no")

MEASURE, COMPARE, ADD = "measure", "compare", "add"
"""What is done with gradients that comes out differently while they are scaled; see `GradAccess`."""


@frozen
class Event:
    """Something the program does; `site` is where."""

    site: int


@frozen
class Assign(Event):
    """`target` gets a new value, computed from `carried` (arithmetic, aliases) and from `args` (passed to calls).

    `computes` says whether a call or an operator runs (a forward, then); `truth` is the truth of a constant value. `number`
    is the value, if that is a number that is written out, and `added` one that is added to what the target was. `handed_back`
    says that the value comes from the target itself (`optimizer = adjusted(optimizer)`), so that it may name what it named;
    `leaf`, that a new graph begins with the value, so that no gradient goes back to what it was computed from; `present`, that
    the value is there, where the target is None elsewhere; `after_step`, that a scaler's step comes before it whenever it
    happens.
    """

    target: str
    carried: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    computes: bool = False
    truth: bool | None = None
    number: float | None = None
    added: float | None = None
    handed_back: bool = False
    leaf: bool = False
    present: bool = False
    after_step: bool = False

    @property
    def tells_truth(self) -> bool:
        """Whether it decides a test of the target."""
        return self.present or self.truth is not None


@frozen
class Forward(Event):
    """`model` is called: a model, if an optimizer has its parameters. Told of calls in regions that hold steps, too."""

    model: str


@frozen
class Scale(Event):
    """`target = scaler.scale(source)`."""

    target: str
    scaler: str
    source: str = ""


@frozen
class Backward(Event):
    """Gradients of `loss` are added to the parameters.

    `sources` are the references of all that it is computed from, where the program tells; else there are none.
    """

    loss: str
    sources: tuple[str, ...] = ()


@frozen
class Report(Event):
    """A loss is read out to be shown or kept: logged, added up."""

    value: str


@frozen
class InnerGrad(Event):
    """Gradients of `outputs` are computed to be part of a loss (`autograd.grad` with `create_graph=True`).

    `divided` says that the code divides by a loss scale nearby, so that what was scaled may be unscaled.
    """

    outputs: str
    divided: bool = False


@frozen
class Unscale(Event):
    """`scaler.unscale_(optimizer)`."""

    scaler: str
    optimizer: str


@frozen
class Clip(Event):
    """Gradients are clipped.

    `owners` are the references that the parameters come from; `optimizer` is set where the code names one. `by` is "norm",
    "value" or "hand"; `limit` is the source text of the threshold. `raises` says that gradients which are not finite are an
    error, which nothing catches. `order` is the source text of the kind of norm; empty where the code leaves it to torch.
    """

    owners: tuple[str, ...]
    optimizer: str = ""
    by: str = "norm"
    limit: str = ""
    raises: bool = False
    order: str = ""


@frozen
class GradAccess(Event):
    """`.grad` is read (`writes` False) or changed by hand.

    `by` says what is done that comes out differently while gradients are scaled: "measure" (a norm is taken, say, and shown),
    "compare" (a measure decides something), "add" (something that is not scaled is added); empty for what does not matter.
    """

    owners: tuple[str, ...]
    writes: bool = False
    by: str = ""


@frozen
class OptimizerStep(Event):
    """`optimizer.step()`, not through a scaler."""

    optimizer: str


@frozen
class ScalerStep(Event):
    """`scaler.step(optimizer)`."""

    scaler: str
    optimizer: str
    closure: bool = False


@frozen
class ScalerUpdate(Event):
    """`scaler.update()`; with `given`, the scale is set by the call."""

    scaler: str
    given: bool = False


@frozen
class ZeroGrad(Event):
    """Gradients are cleared by an optimizer (`optimizer`) or by a module (`owner`).

    `to_none` says that all of them are gone afterwards, where others stay as zeros.
    """

    optimizer: str = ""
    owner: str = ""
    to_none: bool = False


@frozen
class Leave(Event):
    """An iteration or a function is left early; `bad` says that the branch asks for overflows, NaN, or a bad batch.

    `last` says that the function is an iteration, called again from where nobody sees: the next event is its first.
    """

    bad: bool = False
    last: bool = False


@frozen
class SchedulerStep(Event):
    """A learning-rate scheduler advances by one."""

    scheduler: str


@frozen
class AutocastEnter(Event):
    """A region begins. (An event graph has no such event: there a region is the node `Scoped`.)"""

    region: Region


@frozen
class AutocastExit(Event):
    """The innermost region ends."""


@frozen
class Checkpoint(Event):
    """State is taken to be kept: `refs` are the objects whose state it is, empty where it is written to a file."""

    refs: tuple[str, ...] = ()


@frozen
class CacheCleared(Event):
    """Autocast forgets the weights that it has cast."""


@frozen
class Escape(Event):
    """Something unknown gets hold of these objects (or, with no reference, of all gradients): their state is unknown."""

    refs: tuple[str, ...]


@frozen
class ObjectFacts:
    """What is known of an object from its construction.

    `role` is "scaler", "optimizer", "scheduler", "follower" (a schedule that goes by the steps really taken, or by a metric),
    "model", "framework" (another library's own protocol) or "". `owners` are the references that an optimizer's parameters
    come from. `enabled` is "yes", "no" or "maybe" for a scaler. `made` says that its construction was seen, and that it is
    never None. `maker` is the only call that constructs it: its source text, with the full name of what is called ("" when
    that cannot be told). `owned` says of a scaler that it belongs to an object of a library, whose optimizers may step
    through it unseen.
    """

    role: str = ""
    owners: tuple[str, ...] = ()
    enabled: str = "maybe"
    init_scale: str = ""
    made: bool = False
    maker: str = ""
    owned: bool = False
