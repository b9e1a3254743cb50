"""What each list of words says, and what only looks like it; each stands in one place."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from amplint.model import vocabulary

SAID = [
    ("IS_FINITE", "isfinite is_nan isinf", "is_inference infinite_loader"),
    (
        "FINITE",
        "isfinite all_finite has_nan found_inf nan_to_num nan_count check_overflow",
        "is_inference is_info inf nanny",
    ),
    ("STEP_GATE", "get_scale found_inf skip_step optimizer._step_count step_taken isnan", "step is_inference scale"),
    ("TROUBLE", "is_nan found_inf overflow bad_batch corrupted skipped nan", "isfinite info badge nanny"),
    ("BEFORE", "old_scale scale_before prev start_scale", "scale init_scale"),
    ("MODEL", "model net model_1 netG self.critic ema_model Model networks", "netg module netlist remodel"),
    ("HAS_MODEL", "model net2 submodule ddp critic", "netlist loss"),
    ("WEIGHTS", "model module ema state_dict net", "epoch modeling"),
    ("HAS_GRADIENTS", "params grads model net", "parametric grad_norm_value"),
    ("LOSS", "loss criterion CrossEntropyLoss objective", "observation"),
    ("MAYBE_LOSS", "loss cost err scaled", "value"),
    (
        "MODEL_OR_LOSS",
        "model _net model2 net_g compute_loss loss_fn criterion cri_gan criterionGAN l1_loss net_vgg",
        "optimizer update remodel train_model update_loss",
    ),
    ("HALF", "fp16 bf16 float16 half bfloat16", "float32 16"),
    ("PRECISION", "dtype precision args.prec bf16", "precompute 16"),
    ("PRECISION_VALUE", "16-mixed 16 dtype", "160 step16"),
    ("PRECISION_CHOICE", "amp args.amp dtype rocm", "sample amplitude"),
    ("SAVES", "save_checkpoint torch.save dump", "load"),
    ("LOADS", "load_state_dict resume restore", "save"),
    ("LOOKS", "print len deepcopy logger.log info", "update_info length"),
    ("HARMLESS", "print save lr_lambda named_parameters", "clip step"),
]


@pytest.mark.parametrize(("name", "said", "unsaid"), SAID, ids=[each[0] for each in SAID])
def test_words(name: str, said: str, unsaid: str) -> None:
    """A list knows the words that mean its idea, and none that only look like them."""
    pattern = getattr(vocabulary, name)
    assert [word for word in said.split() if not pattern.search(word)] == []
    assert [word for word in unsaid.split() if pattern.search(word)] == []


def test_a_finite_loss_is_no_finite_gradient() -> None:
    assert vocabulary.asks_for_step("isfinite grad_norm")
    assert vocabulary.asks_for_step("scaler get_scale scale")
    assert not vocabulary.asks_for_step("torch isfinite loss")


def test_each_list_says_what_it_is_for() -> None:
    body = ast.parse(Path(vocabulary.__file__).read_text()).body
    for statement, following in zip(body, [*body[1:], None]):
        if isinstance(statement, ast.Assign):
            said = following.value if isinstance(following, ast.Expr) else None
            assert isinstance(said, ast.Constant), ast.unparse(statement.targets[0])


def test_no_pattern_stands_twice() -> None:
    """Alternatives of a pattern of the vocabulary are not spelled out anywhere else."""
    ideas = [
        r"is_\?nan",
        r"is_\?inf",
        "found_inf|",
        "ckpt|",
        r"fp_\?16",
        "|generator",
        "criterion|",
        "optim(izer)",
    ]
    package = Path(vocabulary.__file__).parents[2]
    for path in [*package.rglob("*.py"), *(package.parent / "rules").rglob("*.py")]:
        for pattern in re.findall(r"re\.compile\((.*?)\)\n", path.read_text(), re.DOTALL):
            assert path.name == "vocabulary.py" or not [idea for idea in ideas if idea in pattern], path
