"""What `docs/libraries.md` says of libraries that can be installed, tried on them: the norm that reaches the optimizer.

Their scalers are put on the CPU; nothing else of them is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

OWN, TORCH, BYPASSED = "the library clips", "torch clips", "the optimizer is stepped directly"
ROUNDS = 6


class Run:
    """A small training, and the norms of the gradients that its optimizer was given."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.optimizer.register_step_pre_hook(self._note)
        self.inputs, self.targets = torch.randn(16, 32), 3 * torch.randn(16, 1)
        self.norms: list[float] = []

    def _note(self, *_: object) -> None:
        grads = [param.grad for param in self.model.parameters()]
        self.norms.append(torch.nn.utils.get_total_norm(grads).item())

    def losses(self, model: Any) -> Iterator[Any]:
        for _ in range(ROUNDS):
            self.model.zero_grad()
            yield torch.nn.functional.mse_loss(model(self.inputs).float(), self.targets)

    def clip(self) -> None:
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)


def scaling_accelerator(**settings: Any) -> Any:
    """An accelerator in float16 whose scaler is on the CPU."""
    accelerate = pytest.importorskip("accelerate")
    accelerate.state.AcceleratorState._reset_state(True)
    accelerator = accelerate.Accelerator(cpu=True, **settings)
    accelerator.scaler, accelerator.native_amp = torch.amp.GradScaler("cpu"), True
    accelerator.state._mixed_precision = "fp16"
    return accelerator


def with_accelerate(how: str) -> list[float]:
    run, accelerator = Run(), scaling_accelerator()
    model, optimizer = accelerator.prepare(run.model, run.optimizer)
    for loss in run.losses(model):
        accelerator.backward(loss)
        if how == OWN:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        elif how == TORCH:
            run.clip()
        (run.optimizer if how == BYPASSED else optimizer).step()
    return run.norms


def with_fabric(how: str) -> list[float]:
    fabric_module = pytest.importorskip("lightning.fabric")
    precision = pytest.importorskip("lightning.fabric.plugins.precision.amp")
    plugin = precision.MixedPrecision("16-mixed", "cpu", torch.amp.GradScaler("cpu"))
    run, fabric = Run(), fabric_module.Fabric(accelerator="cpu", devices=1, plugins=plugin)
    model, optimizer = fabric.setup(run.model, run.optimizer)
    for loss in run.losses(model):
        fabric.backward(loss)
        if how == OWN:
            fabric.clip_gradients(model, optimizer, max_norm=1.0, error_if_nonfinite=False)
        elif how == TORCH:
            run.clip()
        (run.optimizer if how == BYPASSED else optimizer).step()
    return run.norms


def with_mmengine(how: str, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    module = pytest.importorskip("mmengine.optim.optimizer.amp_optimizer_wrapper")
    monkeypatch.setattr(module, "is_cuda_available", lambda: True)
    monkeypatch.setattr(module, "GradScaler", lambda **settings: torch.amp.GradScaler("cpu", **settings))
    run = Run()
    clips = {"clip_grad": {"max_norm": 1.0}} if how == OWN else {}
    wrapper = module.AmpOptimWrapper(optimizer=run.optimizer, **clips)
    for loss in run.losses(run.model):
        wrapper.backward(loss)
        if how == TORCH:
            run.clip()
        (run.optimizer if how == BYPASSED else wrapper).step()
    return run.norms


def with_lightning(automatic: bool, **methods: Callable[..., Any]) -> list[tuple[str, float]]:
    """The norms of the gradients that a module of Lightning meets, by the hook that met them.

    Args:
        automatic: whether Lightning runs the backward pass and the step.
        methods: what the module does besides.
    """
    pl = pytest.importorskip("lightning.pytorch")
    precision = pytest.importorskip("lightning.pytorch.plugins.precision")
    run, met = Run(), []

    class Module(pl.LightningModule):  # type: ignore[misc, name-defined]
        automatic_optimization = automatic
        training_step = methods.get("training_step", lambda self, *_: next(run.losses(run.model)))

        def __init__(self) -> None:
            super().__init__()
            self.model = run.model

        def configure_optimizers(self) -> Any:
            return run.optimizer

        def on_after_backward(self) -> None:
            self.note("after the backward pass")

        def on_before_optimizer_step(self, optimizer: Any) -> None:
            self.note("before the step")

        def note(self, when: str) -> None:
            assert torch.is_autocast_enabled("cpu") is not automatic
            met.append((when, torch.nn.utils.get_total_norm([each.grad for each in run.model.parameters()]).item()))

    plugin = precision.MixedPrecision("16-mixed", "cpu", torch.amp.GradScaler("cpu", init_scale=1024.0))
    quiet = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary", "barebones"), False
    )
    trainer = pl.Trainer(accelerator="cpu", devices=1, plugins=[plugin], max_epochs=1, **quiet)
    trainer.fit(Module(), torch.utils.data.DataLoader([0.0]))
    return met + [("in the step", norm) for norm in run.norms]


@pytest.mark.filterwarnings("ignore")
def test_lightning_unscales_between_the_backward_pass_and_the_step() -> None:
    met = dict(with_lightning(automatic=True))
    assert met["after the backward pass"] == pytest.approx(1024 * met["before the step"], rel=1e-2)
    assert met["before the step"] == met["in the step"]


@pytest.mark.filterwarnings("ignore")
def test_manual_optimization_clips_what_is_still_scaled() -> None:
    def training_step(module: Any, *_: object) -> None:
        optimizer = module.optimizers()
        loss = torch.nn.functional.mse_loss(module.model(torch.ones(4, 32)), torch.zeros(4, 1))
        module.manual_backward(loss)
        module.clip_gradients(optimizer, gradient_clip_val=0.01, gradient_clip_algorithm="norm")
        optimizer.step()

    met = dict(with_lightning(automatic=False, training_step=training_step))
    assert met["after the backward pass"] > 0.01
    assert met["before the step"] == met["in the step"] == pytest.approx(0.01 / 1024, rel=1e-2)


@pytest.mark.filterwarnings("ignore")
def test_transformers_unscales_between_the_training_step_and_the_optimizers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    trainer_class = pytest.importorskip("transformers.trainer").Trainer
    run = Run()
    met: list[float] = []

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model = run.model

        def forward(self, values: Any) -> dict[str, Any]:
            return {"loss": torch.nn.functional.mse_loss(self.model(values), run.targets)}

    class Trainer(trainer_class):  # type: ignore[misc, valid-type]
        def training_step(self, *given: Any) -> Any:
            loss = super().training_step(*given)
            met.append(torch.nn.utils.get_total_norm([each.grad for each in run.model.parameters()]).item())
            return loss

    quiet = {"report_to": [], "save_strategy": "no", "logging_strategy": "no", "disable_tqdm": True}
    args = transformers.TrainingArguments(
        str(tmp_path), use_cpu=True, max_steps=1, per_device_train_batch_size=16, remove_unused_columns=False, **quiet
    )
    data = [{"values": each} for each in run.inputs]
    trainer = Trainer(Model(), args, train_dataset=data, optimizers=(run.optimizer, None))
    trainer.accelerator.scaler, trainer.accelerator.native_amp = torch.amp.GradScaler("cpu", init_scale=1024.0), True
    trainer.accelerator.state._mixed_precision = "fp16"
    trainer.train()
    assert met[0] > 1024 * 1.0
    assert run.norms == pytest.approx([1.0], rel=1e-3), "the trainer clips to 1 by itself"


@pytest.mark.filterwarnings("ignore")
def test_composer_unscales_between_two_callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    composer = pytest.importorskip("composer")
    module = pytest.importorskip("composer.trainer.trainer")
    monkeypatch.setattr(module, "_validate_precision", lambda *_: None)
    monkeypatch.setattr(module, "get_precision_context", lambda *_, **__: torch.autocast("cpu", torch.bfloat16))
    monkeypatch.setattr(module, "GradScaler", lambda: torch.amp.GradScaler("cpu", init_scale=1024.0))
    run = Run()
    met: dict[str, float] = {}

    class Model(composer.ComposerModel):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model = run.model

        def forward(self, batch: Any) -> Any:
            return self.model(batch)

        def loss(self, outputs: Any, batch: Any) -> Any:
            assert torch.is_autocast_enabled("cpu")
            return outputs.float().square().mean()

    class Norms(composer.Callback):  # type: ignore[misc, name-defined]
        def after_backward(self, state: Any, logger: Any) -> None:
            met["backward"] = torch.nn.utils.get_total_norm([each.grad for each in run.model.parameters()]).item()

        def after_train_batch(self, state: Any, logger: Any) -> None:
            met["batch"] = torch.nn.utils.get_total_norm([each.grad for each in run.model.parameters()]).item()

    loader = torch.utils.data.DataLoader(run.inputs, batch_size=16)
    settings = {"max_duration": "1ba", "device": "cpu", "precision": "amp_fp16", "progress_bar": False}
    trainer = composer.Trainer(
        model=Model(), train_dataloader=loader, optimizers=run.optimizer, callbacks=[Norms()], **settings
    )
    trainer.fit()
    assert met["backward"] == pytest.approx(1024 * met["batch"], rel=1e-2)
    assert run.norms == pytest.approx([met["batch"]])


@pytest.fixture(params=["accelerate", "fabric", "mmengine"])
def train(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[float]]:
    """A training with one library."""
    if request.param == "mmengine":
        return lambda how: with_mmengine(how, monkeypatch)
    return with_accelerate if request.param == "accelerate" else with_fabric


def test_the_library_unscales_before_it_clips(train: Callable[[str], list[float]]) -> None:
    norms = train(OWN)
    assert norms
    assert norms == pytest.approx([1.0] * len(norms), rel=1e-3)


def test_torch_clips_what_is_still_scaled(train: Callable[[str], list[float]]) -> None:
    norms = train(TORCH)
    assert norms
    assert max(norms) < 1e-4


def test_an_optimizer_that_is_stepped_directly_gets_scaled_gradients(train: Callable[[str], list[float]]) -> None:
    first = train(BYPASSED)[0]
    assert not first < 1e4, "scaled, or overflown"


@pytest.mark.filterwarnings("ignore")
def test_accelerate_skips_for_prepared_schedules_alone() -> None:
    accelerator = scaling_accelerator()
    run = Run()
    rate = torch.optim.lr_scheduler.LambdaLR(run.optimizer, lambda _: 1.0)
    model, optimizer = accelerator.prepare(run.model, run.optimizer)
    for number, loss in enumerate(run.losses(model)):
        accelerator.backward(loss * (float("inf") if number == 0 else 1.0))
        optimizer.step()
        rate.step()
    assert rate.last_epoch == ROUNDS
    assert len(run.norms) == ROUNDS - 1, "one step was skipped"


def prepared_by_accelerate(model: Any) -> tuple[Any, Any]:
    accelerate = pytest.importorskip("accelerate")
    accelerate.state.AcceleratorState._reset_state(True)
    accelerator = accelerate.Accelerator(cpu=True, mixed_precision="bf16")
    return accelerator.prepare(model), accelerator.autocast


def set_up_by_fabric(model: Any) -> tuple[Any, Any]:
    fabric = pytest.importorskip("lightning.fabric").Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
    return fabric.setup(model), fabric.autocast


@pytest.mark.parametrize("library", [prepared_by_accelerate, set_up_by_fabric])
def test_what_a_prepared_model_gives_back_is_float32(library: Callable[[Any], tuple[Any, Any]]) -> None:
    """Its layers compute in the region, also where nobody enters one."""
    within: list[Any] = []

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            logits = self.layer(x)
            within.append(logits.dtype)
            return {"logits": logits}

    model, autocast = library(Model())
    given_back = [model(torch.ones(3, 4))["logits"].dtype]
    with autocast():
        given_back.append(model(torch.ones(3, 4))["logits"].dtype)
    assert within == [torch.bfloat16] * 2
    assert given_back == [torch.float32] * 2


def test_accelerate_unscales_in_every_micro_batch_in_which_it_clips() -> None:
    accelerator = scaling_accelerator(gradient_accumulation_steps=2)
    run = Run()
    model, optimizer = accelerator.prepare(run.model, run.optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called"):
        for loss in run.losses(model):
            with accelerator.accumulate(model):
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()


def test_ignite_calls_an_update_function_for_each_batch() -> None:
    engine = pytest.importorskip("ignite.engine")
    called: list[str] = []
    trainer = engine.Engine(lambda _, batch: called.append(f"batch {batch}"))
    trainer.add_event_handler(engine.Events.ITERATION_COMPLETED, lambda _: called.append("completed"))
    trainer.run([1, 2])
    assert called == ["batch 1", "completed", "batch 2", "completed"]
