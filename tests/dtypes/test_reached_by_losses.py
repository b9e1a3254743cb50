"""The dtype flow: what a loss is differentiated through, and where its operands come from."""

from __future__ import annotations

import pytest
from dtype_flow import flow, in_loss, logged, operations


@pytest.mark.parametrize(
    ("use", "reached"),
    [
        ("loss.backward()", True),
        ("scaler.scale(loss).backward()", True),
        ("scaler.scale(loss.mean() / 4).backward()", True),
        ("accelerator.backward(loss)", True),
        ("print(loss.item())", False),
        ("loss.detach().backward()", False),
        ("lin(loss).backward()", False),
    ],
)
def test_in_loss(use: str, reached: bool) -> None:
    dtypes = flow(f"""
        lin = nn.Linear(8, 8)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.log(lin(load())).mean()
        {use}
    """)
    (operation,) = operations(dtypes, "log")
    assert in_loss(dtypes, operation) is reached


def test_in_loss_by_construction() -> None:
    dtypes = flow("""
        class EdgeLoss(nn.Module):
            def forward(self, h):
                return torch.log(h)

        def measure(h):
            return torch.log10(h)

        def run(lin, x):
            criterion = EdgeLoss()
            with torch.autocast("cuda", dtype=torch.float16):
                h = x @ x
                with torch.no_grad():
                    criterion(h)
                return criterion(h), measure(h)
    """)
    half = [operation for operation in operations(dtypes, "log") if operation.operand.half]
    assert [in_loss(dtypes, operation) for operation in half] == [False, True]
    assert not any(in_loss(dtypes, operation) for operation in operations(dtypes, "log10"))


def test_silent_without_a_float16_region() -> None:
    dtypes = flow("""
        def loss(x):
            return torch.log(torch.sigmoid(nn.Linear(8, 8)(x)) + 1e-8)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss(load()).backward()
    """)
    assert dtypes.loss_hazards == ()


def test_generators_are_followed_and_give_nothing_known() -> None:
    dtypes = flow("""
        def steps(x):
            with torch.autocast("cuda", dtype=torch.float16):
                h = x @ x
                loss = torch.log(h).mean()
            loss.backward()
            yield h

        def main(x):
            for h in steps(x):
                torch.log10(h)
    """)
    assert any(in_loss(dtypes, operation) for operation in operations(dtypes, "log"))
    assert {operation.operand.dtype for operation in operations(dtypes, "log10")} == {"?"}


def test_who_makes_and_who_uses_a_value() -> None:
    dtypes = flow("""
        lin = nn.Linear(8, 8)
        with torch.autocast("cuda", dtype=torch.float16):
            p = lin(load()).view(-1).softmax(-1)
            torch.log(p.squeeze())
            unknown(p)
    """)
    (log,) = operations(dtypes, "log")
    assert log.operand.maker is not None and log.operand.maker.op == "softmax"
    assert [each.op for each in dtypes.users(log.operand.maker.node)] == ["squeeze", "log", "call"]


def test_lost_epsilon_and_where_to_widen() -> None:
    dtypes = flow("""
        lin = nn.Linear(8, 8)
        with torch.autocast("cuda", dtype=torch.float16):
            logits = lin(load())
            p = torch.sigmoid(logits)
            torch.log(p + 1e-8)
            torch.log(p.float() + 1e-8)
    """)
    half, widened = (operation.operand for operation in operations(dtypes, "log"))
    assert half.lost is not None and half.lost.value == 1e-8
    assert half.cure is not None and half.cure.value == "logits"  # type: ignore[attr-defined]
    assert widened.lost is None
    assert widened.saturated is not None, "widening after the sigmoid does not undo its rounding"


def test_a_maximum_bounds_what_it_is_subtracted_from() -> None:
    assert logged("h = lin(data)\nm = h.amax(dim=1)\ntorch.log(h - m)").high == 0
    assert logged("h = lin(data)\nm = data.amax(dim=1)\ntorch.log(h - m)").high == float("inf")
