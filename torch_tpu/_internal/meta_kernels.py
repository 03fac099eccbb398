"""Lets PyTorch's meta kernels run without importing torch._dynamo, and mends some.

Most of them are Python functions, and many are wrapped to be invisible to Dynamo by importing it at
their first call: 3 seconds and 60 MB before the first operator of a program that compiles nothing.
While nobody has imported Dynamo there is nothing to hide from.

A few refuse what the CPU takes or take what it refuses: ``mend`` puts others in their place. The
bridge asks neither where PyTorch has a structured kernel in C++ or the call is a usual one.
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


# ---- kernels that refuse what the CPU takes, or take what it refuses ----

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


def _of_something(name: str, original: Callable) -> Callable:
    """Refuse to look for the largest or smallest among no elements."""

    def call(self: torch.Tensor) -> torch.Tensor:
        if self.numel() == 0:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument."
            )
        return original(self)

    return call


def _along_something(name: str, original: Callable) -> Callable:
    """Refuse to look for one of no elements along a dim."""

    def call(self: torch.Tensor, *args: Any) -> Any:
        at = 1 if name == "kthvalue" else 0
        dim = args[at] if len(args) > at else -1
        if self.dim() != 0 and -self.dim() <= dim < self.dim() and self.shape[dim] == 0:
            dim %= self.dim()
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        return original(self, *args)

    return call


def _with_class_numbers(original: Callable) -> Callable:
    """Take the targets that the CPU takes: int64 and uint8."""

    def call(self: torch.Tensor, target: torch.Tensor, *args: Any) -> Any:
        if target.dtype not in (torch.int64, torch.uint8):
            name = torch.empty(0, dtype=target.dtype).type().rsplit(".", 1)[1]
            name = name.removesuffix("Tensor")
            raise RuntimeError(f"expected target dtype to be Long or Byte, but got {name}")
        return original(self, target.to(torch.int64), *args)

    return call


def _multinomial(original: Callable) -> Callable:
    """Refuse to draw more than there is, as the CPU's kernel does."""

    def call(input: torch.Tensor, num_samples: int, replacement: bool = False, **keywords: Any):
        if num_samples <= 0:
            raise RuntimeError("cannot sample n_sample <= 0 samples")
        if not replacement and input.dim() in (1, 2) and num_samples > input.shape[-1]:
            raise RuntimeError(
                "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
            )
        return original(input, num_samples, replacement, **keywords)

    return call


def mend() -> None:
    """Register what is better than PyTorch's own."""
    _library.impl("where.self", _where, "Meta")
    _library.impl("baddbmm.dtype", _baddbmm_dtype, "Meta")
    tables = sys.modules["torch._decomp"].global_decomposition_table
    kernels = {**tables["post_autograd"], **tables["meta"]}
    aten = torch.ops.aten
    for name in ("max", "min"):
        _library.impl(name, _of_something(name, kernels[getattr(aten, name).default]), "Meta")
    for name in ("mode", "kthvalue"):
        _library.impl(name, _along_something(name, kernels[getattr(aten, name).default]), "Meta")
    loss = kernels[aten.nll_loss2d_forward.default]
    _library.impl("nll_loss2d_forward", _with_class_numbers(loss), "Meta")
    _library.impl("multinomial", _multinomial(kernels[aten.multinomial.default]), "Meta")
