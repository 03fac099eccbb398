"""Runs an overload that has no rule: by our or PyTorch's decomposition into others, or on the host.

The extension calls ``run``. torch._decomp takes a second to import and brings sympy: it is imported
by the first overload that needs it.
"""

import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._pytree import tree_leaves, tree_map_only

from torch_tpu import _C
from torch_tpu._internal import composites, env

host_calls: Counter[str] = Counter()
"""How often each overload ran on the host."""


class _Running(threading.local):
    """The overloads that this thread is decomposing: one that comes to itself again has no way."""

    def __init__(self):
        self.overloads: list[OpOverload] = []


_running = _Running()


def run(name: str, overload: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Run a call on tpu tensors whose overload has no rule.

    Args:
        name, overload: of the operator, such as ``"aten::add"`` and ``"Tensor"``.
        args, kwargs: as the dispatcher has them: dtypes, layouts and memory formats are numbers.
    Returns:
        What the overload returns.
    Raises:
        NotImplementedError: there is no decomposition, and TORCH_TPU_FALLBACK does not let the host
            run it.
    """
    op = _overload(name, overload)
    args, kwargs = _with_objects(op, args, kwargs)
    how = None if op in _running.overloads else _decomposition(op)
    if how is None:
        return _run_on_host(op, args, kwargs)
    _running.overloads.append(op)
    try:
        return how(args, kwargs)
    finally:
        _running.overloads.pop()


def has_composite(name: str, overload: str) -> bool:
    """Return whether ``composites`` has the overload, for what its rule does not support."""
    return _overload(name, overload) in composites.TABLE


# ---- calls ----


@cache
def _overload(name: str, overload: str) -> OpOverload:
    namespace, _, short = name.partition("::")
    packet = getattr(getattr(torch.ops, namespace), short)
    return getattr(packet, overload or "default")


@cache
def _number_kinds(op: OpOverload) -> dict[str, str]:
    """Return the arguments that are numbers to the dispatcher and objects to Python."""
    kinds = {}
    for argument in op._schema.arguments:
        kind = str(argument.real_type).removeprefix("Optional[").removesuffix("]")
        if kind in ("ScalarType", "Layout", "MemoryFormat"):
            kinds[argument.name] = kind
    return kinds


def _with_objects(op: OpOverload, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    kinds = _number_kinds(op)
    if not kinds:
        return args, kwargs

    def convert(name: str, value: Any) -> Any:
        known = name in kinds and isinstance(value, int)
        return _C.enum_object(kinds[name], value) if known else value

    names = [a.name for a in op._schema.arguments if not a.kwarg_only]
    converted = tuple(convert(n, v) for n, v in zip(names, args, strict=False))
    return converted, {n: convert(n, v) for n, v in kwargs.items()}


# ---- decompositions ----


@cache
def _decomposition(op: OpOverload) -> Callable[[tuple, dict], Any] | None:
    """Return what runs ``op`` by other overloads, or None."""
    if own := composites.TABLE.get(op):
        return lambda args, kwargs: own(*args, **kwargs)
    direct = _table_entry(op)
    if not op._schema.is_mutable:
        return None if direct is None else lambda args, kwargs: direct(*args, **kwargs)
    functional = _functional(op)
    if functional is None:
        return None if direct is None else lambda args, kwargs: direct(*args, **kwargs)

    def through_functional(args: tuple, kwargs: dict) -> Any:
        targets = _targets(op, args, kwargs)
        inputs = {k: v for k, v in kwargs.items() if k not in _out_names(op)}
        _write(targets, functional(*args, **inputs))
        return _returned(op, targets)

    return through_functional


def _table_entry(op: OpOverload) -> Callable | None:
    import torch._decomp
    import torch._refs  # noqa: F401  (its import fills the table)

    if op._schema.is_mutable:
        return None
    found = torch._decomp.decomposition_table.get(op)
    return found or op.py_kernels.get(torch._C.DispatchKey.CompositeImplicitAutograd)


def _out_names(op: OpOverload) -> list[str]:
    return [a.name for a in op._schema.arguments if a.is_out]


def _functional(op: OpOverload) -> OpOverload | None:
    """Return the overload that gives as new tensors what ``op`` writes, or None."""
    wanted = [(a.name, str(a.type)) for a in op._schema.arguments if not a.is_out]
    name = op._schema.name.split("::")[1]
    packets = [name] if _out_names(op) else [name.removesuffix("_"), name + "_functional"]
    library = getattr(torch.ops, op.namespace)
    for packet in (getattr(library, p, None) for p in packets):
        for other in packet.overloads() if packet is not None else ():
            candidate = getattr(packet, other)
            schema = candidate._schema
            same = [(a.name, str(a.type)) for a in schema.arguments] == wanted
            if same and not schema.is_mutable and len(schema.returns) >= _writes(op):
                return candidate
    return None


def _writes(op: OpOverload) -> int:
    return sum(_is_written(a) for a in op._schema.arguments)


def _is_written(argument) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _given(op: OpOverload, args: tuple, kwargs: dict) -> Iterator[tuple[Any, Any]]:
    """Yield each argument of the schema with the value that the call gives it."""
    for i, argument in enumerate(op._schema.arguments):
        if not argument.kwarg_only and i < len(args):
            yield argument, args[i]
        else:
            yield argument, kwargs.get(argument.name, argument.default_value)


def _targets(op: OpOverload, args: tuple, kwargs: dict) -> list[Any]:
    return [value for argument, value in _given(op, args, kwargs) if _is_written(argument)]


def _write(targets: list[Any], results: Any) -> None:
    """Copy results to the tensors that they belong in, resizing those that do not fit."""
    values = results if isinstance(results, (tuple, list)) and len(targets) > 1 else [results]
    pairs = zip(tree_leaves(targets), tree_leaves(values), strict=False)
    for target, value in pairs:
        if not isinstance(target, torch.Tensor) or target is value:
            continue
        if target.shape != value.shape:
            target.resize_(value.shape)
        target.copy_(value)


def _returned(op: OpOverload, targets: list[Any]) -> Any:
    if not op._schema.returns:
        return None
    return targets[0] if len(op._schema.returns) == 1 else tuple(targets[: len(op._schema.returns)])


# ---- the host ----


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return f"{dtype}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    return repr(value)


def _call_text(op: OpOverload, args: tuple, kwargs: dict) -> str:
    parts = [_text(a) for a in args] + [f"{k}={_text(v)}" for k, v in kwargs.items()]
    return f"{op}({', '.join(parts)})"


def _refuse(op: OpOverload, args: tuple, kwargs: dict, why: str) -> None:
    raise NotImplementedError(
        f"tpu: {_call_text(op, args, kwargs)}: {why}. Move the inputs to the CPU, or let the host "
        "run what the device lacks with TORCH_TPU_FALLBACK=warn (or silent)"
    )


def _run_on_host(op: OpOverload, args: tuple, kwargs: dict) -> Any:
    fallback = env.choice("TORCH_TPU_FALLBACK")
    if fallback == "error":
        _refuse(op, args, kwargs, "the device has no rule and PyTorch no decomposition for it")
    if any(r.alias_info is not None and not r.alias_info.is_write for r in op._schema.returns):
        _refuse(op, args, kwargs, "it returns a view, which the host cannot make for the device")
    name = str(op)
    if fallback == "warn" and name not in host_calls:
        warnings.warn(f"tpu: {name} runs on the host (TORCH_TPU_FALLBACK=warn)", stacklevel=2)
    host_calls[name] += 1
    return _call_on_host(op, args, kwargs)


def _call_on_host(op: OpOverload, args: tuple, kwargs: dict) -> Any:
    device = _device_of(args, kwargs)
    host_args, host_kwargs = _to_host((args, kwargs))
    results = op(*host_args, **host_kwargs)
    if op._schema.is_mutable:
        targets = _targets(op, args, kwargs)
        written = _targets(op, host_args, host_kwargs)
        _write(targets, tuple(written) if len(targets) > 1 else written[0])
        if all(r.alias_info is not None for r in op._schema.returns):
            return _returned(op, targets)
    return tree_map_only(torch.Tensor, lambda t: t.to(device), results)


def _device_of(args: tuple, kwargs: dict) -> torch.device:
    for value in tree_leaves((args, kwargs)):
        place = value.device if isinstance(value, torch.Tensor) else value
        if isinstance(place, torch.device) and place.type == "tpu":
            return place
    return torch.device("tpu", torch.tpu.current_device())


def _to_host(tree: Any) -> Any:
    tree = tree_map_only(torch.Tensor, lambda t: t.cpu(), tree)
    tree = tree_map_only(torch.device, lambda d: torch.device("cpu"), tree)
    return tree_map_only(torch.Generator, _host_generator, tree)


def _host_generator(generator: torch.Generator) -> torch.Generator:
    """Return a CPU generator in a state that follows from a tpu one, which it moves on."""
    if generator.device.type != "tpu":
        return generator
    state = generator.get_state().view(torch.int64)
    host = torch.Generator().manual_seed(
        int(state[0]) ^ (int(state[1]) * 0x9E3779B97F4A7C15 % 2**63)
    )
    state[1] += 1
    generator.set_state(state.view(torch.uint8))
    return host
