"""What the judges know of the objects that events name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from amplint.model.events import Clip, GradAccess, ObjectFacts
from amplint.model.protocol.contents import Grad
from amplint.model.protocol.state import ANY, ProtocolState
from amplint.model.references import reference


class Known:
    """The objects of a program, as far as their construction tells.

    Args:
        objects: what is known of each, by reference.
        nothing_scales: whether no scaler among them ever scales a loss.
        nobody_unscales: whether no code in sight ever calls `unscale_` for one of them.
    """

    def __init__(
        self, objects: Mapping[str, ObjectFacts], nothing_scales: bool = False, nobody_unscales: bool = False
    ) -> None:
        self._objects = objects
        named = [name for name, facts in objects.items() if facts.role == "optimizer"]
        collections = {name[:at] for name in named for at, mark in enumerate(name) if mark == "["}
        self.optimizers = [name for name in named if name not in collections]
        scaling = {"framework"} if nothing_scales else {"scaler", "framework"}
        self.nobody_unscales = nobody_unscales
        self.may_scale = any(facts.role in scaling for facts in objects.values())
        """Whether there is something that may scale losses."""
        self.always_scales = all(
            self.always_on(name) for name, facts in objects.items() if facts.role in {"scaler", "framework"}
        )

    def of(self, reference: str) -> ObjectFacts:
        """What is known of one object."""
        return self._objects.get(reference, ObjectFacts())

    def is_only(self, optimizer: str) -> bool:
        """Whether no other optimizer is known."""
        return self.optimizers in ([], [optimizer])

    def owners_of(self, references: Iterable[str]) -> list[str]:
        """The optimizers whose parameters come from one of these references."""
        wanted = set(references)
        return [name for name in self.optimizers if wanted & set(self._objects[name].owners)]

    def parts_of(self, optimizer: str) -> list[str]:
        """The optimizers that hold a part of the parameters of another one: of `model.head`, where that holds those of `model`.

        Args:
            optimizer: the reference to the other one.
        """
        wholes = [reference(owner) for owner in self.of(optimizer).owners]
        return [
            name
            for name in self.optimizers
            if wholes
            and name != optimizer
            and (owners := self._objects[name].owners)
            and all(any(owner != whole.text and whole.includes(owner) for whole in wholes) for owner in owners)
        ]

    def spared(self, sources: Iterable[str]) -> list[str]:
        """The optimizers whose networks a backward pass leaves alone, since it goes back to that of another one.

        Args:
            sources: what the pass goes back to; none where that is unknown.
        """
        goes_to = [reference(each) for each in sources]
        counts = Counter(owner for name in self.optimizers for owner in self.of(name).owners)
        owners = {
            name: [reference(owner) for owner in self.of(name).owners if counts[owner] == 1] for name in self.optimizers
        }  # what several have in common is their settings
        met = {
            name
            for name, own in owners.items()
            if any(one.includes(other.text) or other.includes(one.text) for one in own for other in goes_to)
        }
        return [name for name, own in owners.items() if met and own and name not in met]

    def enabled_scalers(self) -> list[str]:
        """The scalers that are not known to be disabled."""
        return [name for name, facts in self._objects.items() if facts.role == "scaler" and facts.enabled != "no"]

    def off(self, state: ProtocolState, scaler: str) -> bool:
        """Whether a scaler does nothing on this path.

        Args:
            state: the state on the path, which may have settled whether AMP is on.
            scaler: the reference to it.
        """
        return state.amp_off or self.of(scaler).enabled == "no"

    def always_on(self, scaler: str) -> bool:
        """Whether a scaler is enabled even where the program thinks that AMP is off."""
        facts = self.of(scaler)
        return facts.made and facts.enabled == "yes"

    def unscales_first(self, scaler: str) -> bool:
        """Whether a step of a scaler is the first to unscale whatever the gradients are: one of torch's, made in sight."""
        facts = self.of(scaler)
        return self.nobody_unscales and bool(facts.maker) and not facts.owned

    def may_step_through(self, optimizer: str, grad: Grad) -> bool:
        """Whether a step of an optimizer may be one of the scaler's: that of a library, which wraps optimizers.

        Args:
            optimizer: the reference to it.
            grad: what its gradients hold.
        """
        scalers = [part.scaler for part in grad.parts if part.kind == "scaled"]
        return not self.of(optimizer).made and any(self.of(scaler).owned for scaler in scalers)

    def exactly(self, event: Clip | GradAccess) -> list[str]:
        """The optimizers whose gradients a use handles by what it names, and not because there are no others."""
        named = event.optimizer if isinstance(event, Clip) else ""
        return [named] if named else self.owners_of(event.owners)

    def handled(self, state: ProtocolState, owners: Iterable[str], optimizer: str) -> tuple[list[str], list[Grad]]:
        """The optimizers whose gradients are handled when some parameters are, and those gradients.

        Args:
            state: the state on the path.
            owners: what the parameters belong to; none where that is unknown.
            optimizer: the optimizer that is named itself; empty for none.
        """
        names = [optimizer] if optimizer else self.owners_of(owners)
        met = {name: grad for name, grad in state.grads().items() if name != ANY}
        if not names and len(self.optimizers) == 1 and met.keys() <= set(self.optimizers):
            names = self.optimizers
        names = [each for name in names for each in _acting(name, met)]
        return names, [state.grad(name) for name in names] or list(met.values()) or [state.grad(ANY)]


def _acting(name: str, met: Iterable[str]) -> list[str]:
    """The optimizers that act for one: those that it is made of, where events were about them and none about itself.

    Args:
        name: the reference to it.
        met: the references that events were about.
    """
    return [name] if name in met else [each for each in met if reference(name).includes(each)] or [name]
