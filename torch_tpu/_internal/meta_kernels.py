"""Lets PyTorch's meta kernels run without importing torch._dynamo, and mends some.

Most of them are Python functions, and many are wrapped to be invisible to Dynamo by importing it at
their first call: 3 seconds and 60 MB before the first operator of a program that compiles nothing.
While nobody has imported Dynamo there is nothing to hide from.

A few refuse what the CPU takes: ``mend`` puts others in their place.
"""

import functools
import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import torch

_MODULES = (
    "torch._refs",
    "torch._refs.fft",
    "torch._refs.linalg",
    "torch._refs.nn.functional",
    "torch._refs.special",
    "torch._decomp.decompositions",
    "torch._meta_registrations",
)
_HIDING = torch._disable_dynamo(lambda: None).__code__


def _hidden_once_dynamo_is_there(function: Callable) -> Callable:
    """Return what calls ``function``: by ``torch._dynamo.disable`` as soon as that exists."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        dynamo = sys.modules.get("torch._dynamo")
        if not hasattr(dynamo, "disable"):  # not imported, or being imported now
            return function(*args, **kwargs)
        function.__dynamo_disable = dynamo.disable(function, True, wrapping=False)
        return function.__dynamo_disable(*args, **kwargs)

    return call


def _functions() -> Iterable[Any]:
    for name in _MODULES:
        if name in sys.modules:
            yield from list(vars(sys.modules[name]).values())
    for table in sys.modules["torch._decomp"].global_decomposition_table.values():
        yield from list(table.values())


def _wrapped(function: FunctionType) -> Any:
    """Return what a wrapper of torch._prims_common or torch._compile calls; they name it ``fn``.

    ``__wrapped__`` is no guide: several wrappers set it to the innermost function.
    """
    names = function.__code__.co_freevars
    if "fn" in names and function.__closure__ is not None:
        return function.__closure__[names.index("fn")].cell_contents
    return getattr(function, "__wrapped__", None)


def spare_dynamo() -> None:
    """Find the hidden functions and tell each wrapper what to call instead of importing Dynamo."""
    for function in _functions():
        while isinstance(function, FunctionType):
            inner = _wrapped(function)
            # torch._compile keeps what it calls in this attribute of the function it hides.
            if function.__code__ is _HIDING and not hasattr(inner, "__dynamo_disable"):
                inner.__dynamo_disable = _hidden_once_dynamo_is_there(inner)
            function = inner


# ---- kernels that refuse what the CPU takes ----

_library = torch.library.Library("aten", "IMPL")


def _where(condition: torch.Tensor, self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Take a condition of uint8, which is deprecated, but served."""
    return torch._refs.where(
        condition.to(torch.bool) if condition.dtype is torch.uint8 else condition, self, other
    )


def _baddbmm_dtype(self, batch1, batch2, out_dtype, *, beta=1, alpha=1) -> torch.Tensor:
    """Take ``out_dtype``: PyTorch has no kernel here, and its decomposition reads it as beta."""
    product = torch.ops.aten.bmm.dtype(batch1, batch2, out_dtype)
    return torch.empty_like(self.expand(product.shape), dtype=out_dtype)


def _with_empty_batch(original: Callable) -> Callable:
    """Take a batch of none: the original hands a number to a check that takes bools."""

    def call(input: torch.Tensor, output_size: list[int], *scales: Any) -> torch.Tensor:
        if input.dim() < 3 or input.shape[0] != 0 or 0 in input.shape[1:]:
            return original(input, output_size, *scales)
        one = input.new_empty((1, *input.shape[1:]))
        return original(one, output_size, *scales).narrow(0, 0, 0)

    return call


def mend() -> None:
    """Register what is better than PyTorch's own."""
    _library.impl("where.self", _where, "Meta")
    _library.impl("baddbmm.dtype", _baddbmm_dtype, "Meta")
    kernels = sys.modules["torch._decomp"].global_decomposition_table["meta"]
    for name in ("upsample_nearest", "_upsample_nearest_exact"):
        for rank in (1, 2, 3):
            overload = getattr(torch.ops.aten, f"{name}{rank}d").default
            _library.impl(f"{name}{rank}d", _with_empty_batch(kernels[overload]), "Meta")
