"""What one case is: the first samples of one operator, on the device and on the CPU."""

import itertools
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

DTYPE = torch.float32
TOLERANCE = 1e-3
"""Relative and absolute: sums of a few hundred products, in another order than the CPU's."""
DRAWS = re.compile(
    r"bernoulli|cauchy|dropout|empty|exponential|fractional_max_pool|geometric|lobpcg|lowrank"
    r"|multinomial|normal(?!ize)|poisson|rand|rrelu|uniform"
)
"""Operators that draw numbers or leave memory unwritten: compared by shapes and dtypes alone."""


@cache
def operators() -> dict[str, Any]:
    """Every entry of PyTorch's op_db by ``name`` or ``name.variant``."""
    from torch.testing._internal.common_methods_invocations import op_db

    return {".".join(filter(None, (op.name, op.variant_test_name))): op for op in op_db}


def names(grad: bool) -> list[str]:
    """The cases, in an order that is mixed and always the same: each stretch is a sample."""
    found = [
        name
        for name, op in operators().items()
        if DTYPE in op.supported_dtypes("cpu") and (op.supports_autograd or not grad)
    ]
    random.Random(0).shuffle(found)
    return found


def _samples(op: Any, count: int, grad: bool) -> Iterator[Any]:
    samples = op.sample_inputs("cpu", DTYPE, requires_grad=grad)
    return itertools.islice(samples, count)


def _copies(sample: Any, device: str) -> tuple[Any, tuple, dict]:
    """The sample's arguments with every tensor copied to ``device`` and every device renamed."""

    def copy(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            there = value.detach().clone().to(device)
            return there.requires_grad_(value.requires_grad)
        names_cpu = isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu")
        return torch.device(device) if names_cpu else value

    return tree_map(copy, (sample.input, sample.args, sample.kwargs))


def _wants_gradients(op: Any, kwargs: dict) -> bool:
    # An eigenvector is known up to a phase: the sum of its elements has no one gradient.
    return op.name not in ("eig", "linalg.eig") and kwargs.get("out") is None


def _loss(tensors: list[torch.Tensor]) -> torch.Tensor:
    return sum((t.abs() if t.is_complex() else t).float().sum() for t in tensors)


def _run(op: Any, sample: Any, device: str, grad: bool) -> list[Any]:
    """What the operator returns, and then the gradients of its inputs."""
    input, args, kwargs = arguments = _copies(sample, device)
    outputs = op(input, *args, **kwargs)
    results = tree_leaves(outputs)
    if grad and _wants_gradients(op, kwargs):
        roots = [x for x in results if isinstance(x, torch.Tensor) and x.requires_grad]
        leaves = [
            x for x in tree_leaves(arguments) if isinstance(x, torch.Tensor) and x.requires_grad
        ]
        if roots:
            results += torch.autograd.grad(_loss(roots), leaves, allow_unused=True)
    return results


def _difference(got: Any, want: Any, values: bool) -> str:
    """ "" where one result agrees with the CPU's, else in what it does not."""
    if not isinstance(want, torch.Tensor):
        same = not values or isinstance(want, (torch.device, str)) or got == want or want != want
        if not same and isinstance(want, float):
            same = abs(got - want) <= TOLERANCE * (1 + abs(want))
        return "" if same else f"value {got}, expected {want}"
    if not isinstance(got, torch.Tensor):
        return f"{got}, expected a tensor"
    got, want = got.detach().cpu(), want.detach()
    for attribute in ("dtype", "shape"):
        have, wanted = getattr(got, attribute), getattr(want, attribute)
        if have != wanted:
            return f"{attribute} {have}, expected {wanted}"
    if not values:
        return ""
    if want.layout != torch.strided:
        got, want = got.to_dense(), want.to_dense()
    exact = not (want.is_floating_point() or want.is_complex())
    tolerance = {} if exact else {"rtol": TOLERANCE, "atol": TOLERANCE}
    try:
        torch.testing.assert_close(got, want, equal_nan=True, **tolerance)
    except AssertionError as error:
        return "value: " + " ".join(str(error).split())
    return ""


def _compare(got: list[Any], want: list[Any], values: bool) -> str:
    if len(got) != len(want):
        return f"{len(got)} results, expected {len(want)}"
    differences = (_difference(g, w, values) for g, w in zip(got, want, strict=True))
    return next(filter(None, differences), "")


def _drops(op: Any, kwargs: dict) -> bool:
    in_training = kwargs.get("training") and "multi_head" in op.name
    return bool(kwargs.get("dropout_p") or in_training)


def _try(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except Exception:
        return None


def check(name: str, count: int, grad: bool) -> tuple[str, str]:
    """Run one case.

    Returns:
        The status, ``"ok"``, ``"wrong"`` or ``"skipped"`` (the CPU refuses every sample), and what
        is wrong. What the device raises is left to the caller.
    """
    op = operators()[name]
    draws = bool(DRAWS.search(op.name))
    torch.manual_seed(0)
    status = "skipped"
    for number, sample in enumerate(_samples(op, count, grad), 1):
        want = _try(lambda sample=sample: _run(op, sample, "cpu", grad))
        if want is None:
            continue
        got = _run(op, sample, "tpu", grad)
        wrong = _compare(got, want, values=not draws and not _drops(op, sample.kwargs))
        if wrong:
            return "wrong", f"sample {number}: {wrong}"
        status = "ok"
    return status, ""
