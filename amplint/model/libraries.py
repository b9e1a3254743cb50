"""Libraries that scale, step and clip on their own: what amplint knows of each, and where it holds its tongue.

What can be said in Python is said in `amplint/wrappers`, one file for each module of a library: the rest of this table is
about objects whose methods may do anything to gradients, so that nothing is claimed after a call of one.
"""

from __future__ import annotations

import re

from amplint.model.records import frozen


@frozen
class Library:
    """One library.

    `roots` are the dotted names under which its own protocol lives: what is constructed from there is opaque, but for
    `beside`, the parts that have nothing to do with gradients, and for `optimizers`, which step like those of PyTorch.
    `follows` is what amplint understands, `silent` what it leaves alone, and why. A text that tells the library to scale,
    and need not hold any other word of AMP, has all words of one of `told`, and one of the identifiers `words`. `steps`
    says whether its objects take part in steps; otherwise only what the wrappers say of them counts.
    """

    name: str
    roots: tuple[str, ...]
    follows: str
    silent: str
    told: tuple[tuple[str, ...], ...] = ()
    words: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    optimizers: tuple[str, ...] = ()
    steps: bool = True

    @property
    def tops(self) -> set[str]:
        """The packages that it is installed as."""
        return {root.partition(".")[0] for root in self.roots}


_DEEPSPEED = ("deepspeed.accelerator", "deepspeed.comm", "deepspeed.profiling", "deepspeed.utils.logger")
_MEGATRON = ("megatron.core.mpu", "megatron.core.parallel_state", "megatron.mpu")
_FAIRSCALE = ("fairscale.nn.checkpoint", "fairscale.nn.model_parallel")
"""Process groups, layers and logs of libraries for training on many GPUs."""

LIBRARIES = (
    Library(
        "accelerate",
        ("accelerate",),
        'an `Accelerator(mixed_precision="fp16")`: `backward` scales, `clip_grad_norm_`, `clip_grad_value_` and '
        "`unscale_gradients` unscale, `autocast` is a region; torch's own clips and readings of gradients in between are "
        "findings, and so is a checkpoint that has the optimizer and not the scaler, a schedule that `prepare` was not given "
        "with its optimizer, and a plain `loss.backward()` before the step of an optimizer that it was given; a clip is replaced "
        "by the accelerator's; what a model gives back that `prepare` may have wrapped is not taken for float16, for it is made "
        "float32",
        "a precision that the text does not tell, bfloat16, DeepSpeed and Megatron plugins; what `prepare` returns steps and "
        "skips on its own",
        told=(
            *(("mixed_precision", "fp16", word) for word in (".backward(", "Accelerator(")),
            *(("accelerator.backward(", word) for word in ("clip_grad_norm_(", "clip_grad_value_(", ".grad")),
        ),
        words=("mixed_precision", "accelerator"),
        beside=("accelerate.logging", "accelerate.utils.set_seed", "accelerate.utils.tqdm"),
    ),
    Library(
        "Lightning, Fabric",
        ("lightning", "pytorch_lightning", "lightning_fabric"),
        '`Fabric(precision="16-mixed")`: `backward` scales, `clip_gradients` unscales; torch\'s own clips and readings of '
        "gradients in between are findings; what a model gives back that `setup` may have wrapped is made float32. "
        'Where a file makes a `Trainer(precision="16-mixed")`: the steps of the '
        "`LightningModule`s that it defines, makes or imports run in a region of float16, gradients are scaled in "
        "`on_after_backward` and after `manual_backward`, and unscaled from `on_before_optimizer_step` on; `clip_gradients` "
        "does not unscale in manual optimisation, and a plain `loss.backward()` there is a finding",
        "a precision that the text does not tell, strategies other than DDP and, of Fabric, FSDP; modules of "
        "which the file with the `Trainer` knows nothing; schedulers that a `Trainer` steps whatever the scaler skipped",
        told=(
            ("Fabric", "16-mixed", ".backward("),
            *(("Trainer(", f"precision={value}") for value in ('"16', "'16", "16")),
            *(("LightningModule", word) for word in (".grad", "clip_grad", "manual_backward", ".step(")),
            ("Callback", "on_after_backward"),
        ),
        words=(
            *("Fabric", "Trainer", "LightningModule", "Callback"),
            *("training_step", "validation_step", "on_after_backward", "manual_backward"),
        ),
        beside=tuple(
            f"{top}.{part}"
            for top in ("lightning.pytorch", "pytorch_lightning", "lightning.fabric", "lightning_fabric", "lightning")
            for part in ("loggers", "utilities.rank_zero", "seed_everything", "utilities.seed")
        ),
    ),
    Library(
        "MMEngine",
        ("mmengine",),
        "`AmpOptimWrapper` and classes derived from it: `backward`, `step` and `update_params` follow the protocol on the "
        "optimizer that it is given, `optim_context` is a region; a plain `loss.backward()` or `optimizer.step()` beside it and "
        "a clip in between are findings",
        "wrappers that a configuration or a registry builds; `ApexOptimWrapper`",
        told=(("AmpOptimWrapper",),),
        words=("AmpOptimWrapper",),
        beside=("mmengine.config", "mmengine.dist", "mmengine.fileio", "mmengine.logging", "mmengine.utils"),
    ),
    Library(
        "MMCV 1.x",
        ("mmcv",),
        "classes derived from `Fp16OptimizerHook`: its scaler, and that `clip_grads` clips without unscaling",
        "`auto_fp16` and `force_fp32`, which cast where no region is seen; hooks that a configuration builds",
        beside=("mmcv.cnn", "mmcv.fileio", "mmcv.image", "mmcv.ops", "mmcv.utils", "mmcv.video"),
    ),
    Library(
        "Transformers",
        ("transformers.Trainer", "transformers.Seq2SeqTrainer", "transformers.trainer"),
        "classes derived from `Trainer`, where the file makes `TrainingArguments(fp16=True)`: gradients are scaled after "
        "`training_step` and after `self.accelerator.backward`, and a plain `loss.backward()` is a finding",
        "a precision that the text does not tell, DeepSpeed; callbacks",
        told=(("TrainingArguments", "fp16"), ("transformers", "Trainer)", "training_step")),
        words=("TrainingArguments", "Trainer", "Seq2SeqTrainer", "training_step"),
    ),
    Library(
        "fairseq",
        ("fairseq.optim", "fairseq.trainer"),
        "",
        "`FP16Optimizer` and `AMPOptimizer` scale, unscale and clip on their own; which of them a task gets, the command "
        "line decides",
    ),
    Library(
        "apex",
        ("apex",),
        "inside of a `with amp.scale_loss(...)`, gradients are scaled: clips and readings of torch's there are findings",
        "what comes after the block, whose end unscales: an optimizer that `amp.initialize` has patched skips steps on its own; "
        "whether the gradients of the model, or those of `amp.master_params`, count",
        told=(("scale_loss(", ".grad"), ("scale_loss(", "clip_grad")),
        words=("scale_loss",),
        beside=(
            *("apex.contrib.layer_norm", "apex.contrib.xentropy", "apex.mlp", "apex.normalization", "apex.parallel"),
            "apex.amp.scale_loss",
        ),
        optimizers=tuple(f"apex.optimizers.Fused{name}" for name in ("Adam", "LAMB", "NovoGrad", "SGD", "Adagrad")),
    ),
    Library(
        "DeepSpeed",
        ("deepspeed",),
        'the engine of a `deepspeed.initialize(config={"fp16": {"enabled": True}})`: a plain `loss.backward()` before its step '
        "and a scheduler that steps beside it are findings",
        "a configuration that the text does not tell, as in a file of JSON; bfloat16; clips and readings of gradients, since "
        "the stage of ZeRO decides what there is to clip",
        told=(("deepspeed", "fp16", ".backward("),),
        words=("deepspeed",),
        beside=_DEEPSPEED,
        optimizers=("deepspeed.ops.adam", "deepspeed.ops.adagrad", "deepspeed.ops.lamb", "deepspeed.ops.lion"),
    ),
    Library(
        "MONAI",
        ("monai.engines",),
        "an iteration that the user writes and that speaks to `engine.scaler`, like any other function",
        "`SupervisedTrainer`, `GanTrainer` and their kin run the loop, and scale when `amp=True`",
    ),
    Library(
        "Ignite",
        ("ignite",),
        "update functions that the user writes, which an `Engine` calls for each batch, and what is registered for "
        "`ITERATION_COMPLETED` after them; a `Checkpoint` that is given the optimizer and not the "
        "scaler is a finding",
        "`create_supervised_trainer` and `supervised_training_step_amp` run the loop",
        beside=("ignite.metrics", "ignite.utils"),
    ),
    Library(
        "Detectron2",
        ("detectron2.engine",),
        "classes derived from `AMPTrainer`: its scaler and optimizer, and that `after_backward` runs while the gradients are "
        "scaled; hooks derived from `HookBase`, where a file makes an `AMPTrainer` and defines, makes or imports them; what a "
        "`DetectionCheckpointer` saves, of a `SimpleTrainer` with a scaler of its own, too",
        "trainers that `DefaultTrainer` picks by configuration",
        told=(("AMPTrainer",), ("HookBase", "after_step", ".step("), ("HookBase", "after_backward")),
        words=("AMPTrainer", "HookBase", "after_step", "after_backward"),
    ),
    Library(
        "fvcore",
        ("fvcore",),
        "what a `Checkpointer` saves: an optimizer that it is given without the scaler is a finding",
        "what `add_checkpointable` adds in other files",
        steps=False,
    ),
    Library(
        "torchutil",
        ("torchutil",),
        "`checkpoint.save`, which is given the optimizer: a checkpoint without the scaler is a finding; `gradients.stats` reads "
        "gradients as they stand",
        "notifications, metrics, and what it says about paths",
        steps=False,
    ),
    Library(
        "Composer",
        ("composer",),
        'where a file makes a `Trainer(precision="amp_fp16")`: `forward`, `loss` and `eval_forward` of the `ComposerModel`s that '
        "it defines, makes or imports run in a region of float16; of its callbacks, `after_backward` meets scaled gradients, "
        "`after_train_batch` unscaled ones",
        "a precision that the text does not tell, DeepSpeed; which event an algorithm answers to, and so whether gradients are "
        "scaled, is its own affair",
        told=(("composer", "amp_fp16"), ("composer", "Callback", "after_backward"), ("ComposerModel", "loss(")),
        words=(
            "Trainer",
            "ComposerModel",
            "ComposerClassifier",
            "Callback",
            "loss",
            "after_backward",
            "after_train_batch",
        ),
        beside=("composer.loggers", "composer.metrics", "composer.utils"),
    ),
    Library(
        "timm",
        tuple(f"timm.{place}" for place in ("utils.NativeScaler", "utils.ApexScaler", "utils.cuda")),
        "`NativeScaler` does a whole step in one call; `dispatch_clip_grad` clips without unscaling",
        "`ApexScaler`; clips of mode `agc`, which compare gradients with weights",
    ),
    Library(
        "ClassyVision",
        ("classy_vision.optim", "classy_vision.tasks"),
        "",
        "a `ClassificationTask` runs the loop, and scales as `set_amp_args` says, by apex or on its own",
    ),
    Library("ColossalAI", ("colossalai",), "", "a booster owns the gradients"),
    Library("Megatron", ("megatron",), "", "its optimizers scale, unscale and clip on their own", beside=_MEGATRON),
    Library("FairScale", ("fairscale",), "", "its wrappers own the gradients", beside=_FAIRSCALE),
)

OTHER_FRAMEWORKS = frozenset(
    "paddle mindspore oneflow jittor tensorflow keras mxnet chainer megengine jax flax mlx".split()
)
"""Packages that train without PyTorch: what is called a scaler there is none of PyTorch's."""

RETURNS_WHAT_IT_GETS = frozenset({"apex.amp.initialize"})
"""Functions that change models and optimizers in place, and return them."""

CALLS_FOR_EACH_BATCH = frozenset({"ignite.engine.Engine", "ignite.engine.engine.Engine"})
"""Classes whose objects call a function for each batch: the first that they are made with."""

_TRAINS = re.compile(r"scaler|optim|\.amp(\.|$)", re.IGNORECASE)
"""What of another framework takes part in training; a PyTorch loop may write its logs with TensorFlow."""

_ROOTS = tuple(root for library in LIBRARIES if library.steps for root in library.roots)
_BESIDE = tuple(part for library in LIBRARIES for part in (*library.beside, *library.optimizers))
_OPTIMIZERS = tuple(part for library in LIBRARIES for part in library.optimizers)
_SHARED = (b"fp16", b"backward", b"Trainer", b"LightningModule", b"precision")
"""Words that many of the ways to tell a library hold: most texts are settled by these few."""
_TOLD: dict[bytes, list[tuple[list[bytes], tuple[str, ...]]]] = {}
"""What tells a library to scale, by a word that it holds: all words, and the identifiers."""
for _library in LIBRARIES:
    for _way in _library.told:
        _words = [word.encode() for word in _way]
        _first = next((word for word in _SHARED if any(word in each for each in _words)), _words[0])
        _TOLD.setdefault(_first, []).append((_words, _library.words))


def told_in(data: bytes) -> tuple[str, ...]:
    """The identifiers by which a text tells libraries to scale; empty when it tells none."""
    ways = [way for first, told in _TOLD.items() if first in data for way in told]
    return tuple(word for held, words in ways if all(each in data for each in held) for word in words)


def has_own_protocol(qualified: str) -> bool:
    """Whether a qualified name belongs to a library that scales on its own."""
    other = qualified.partition(".")[0] in OTHER_FRAMEWORKS and _TRAINS.search(qualified) is not None
    return other or (_is_in(qualified, _ROOTS) and not _is_in(qualified, _BESIDE))


def is_optimizer(qualified: str) -> bool:
    """Whether a qualified name is that of a library's optimizer that steps like those of PyTorch."""
    return _is_in(qualified, _OPTIMIZERS)


def _is_in(qualified: str, parts: tuple[str, ...]) -> bool:
    """Whether a qualified name is one of several dotted names, or lies below one."""
    return qualified.startswith(parts) and any(qualified == part or qualified.startswith(f"{part}.") for part in parts)
