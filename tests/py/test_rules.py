"""Every rule on the device against the CPU: the cases of lower_cases/, one overload call each.

A case is ``(overload, arguments, keywords[, options])``; ``arguments`` makes them, on the CPU.
Options:

    expect       what to compare with, called as the overload is; else the CPU's own result
    verify       judges the results instead: takes the list of them, returns True, or what is wrong
    wanted       types of the results for whoever has no meta kernel to ask: not looked at here
    rtol, atol   the tolerance; signed_zero: zeros must have the same sign
    promote      for whoever chooses which scalars are parameters: not looked at here

TT_ALL_RULES=1 runs all cases, else every eighth.
"""

import importlib
import os
import zlib
from pathlib import Path

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map_only

FAMILIES = sorted(p.stem for p in (Path(__file__).parent / "lower_cases").glob("*.py"))
ALL = os.environ.get("TT_ALL_RULES", "") not in ("", "0")
EVERY = 1 if ALL else int(os.environ.get("TT_RULES_EVERY", "8"))
TOLERANCE = {
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float16: (1e-3, 1e-5),
    torch.float32: (1.3e-5, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-5, 1e-5),
    torch.complex128: (1e-7, 1e-7),
    torch.float8_e4m3fn: (0.13, 0.1),
    torch.float8_e5m2: (0.26, 0.1),
}


# Overload, part of the error, and why: a case that fails so counts as expected. With
# TT_ALL_RULES=1 each must be met.
_LIKE_CUDA = "PyTorch's meta kernel gives the size that CUDA has"
KNOWN = (
    ("aten::_foreach_addcdiv.Tensor", "same device", "numbers in a host tensor of rank 1"),
    ("aten::_foreach_addcmul.Tensor", "same device", "numbers in a host tensor of rank 1"),
    ("aten::multi_margin_loss", "attribute 'shape'", _LIKE_CUDA),
    ("aten::multilabel_margin_loss_forward", "attribute 'shape'", _LIKE_CUDA),
    ("aten::native_batch_norm", "attribute 'shape'", _LIKE_CUDA),
    ("aten::_native_batch_norm_legit_functional", "attribute 'shape'", _LIKE_CUDA),
    ("aten::_native_batch_norm_legit_no_training", "attribute 'shape'", _LIKE_CUDA),
    ("aten::_batch_norm_no_update", "attribute 'shape'", _LIKE_CUDA),
    (
        "aten::_log_softmax",
        "half_to_float is True",
        "PyTorch's meta kernel takes no bfloat16 there",
    ),
    ("aten::_logcumsumexp", "torch.bfloat16", "PyTorch's meta kernel gives float32"),
    (
        "aten::pow.Tensor_Scalar",
        "not close",
        "x ** -0.5 is rsqrt only where the exponent is no parameter",
    ),
)
_met = set()


def _load(family):
    torch.manual_seed(0)
    return importlib.import_module(f"lower_cases.{family}").CASES


def _is_sampled(family, i):
    return (i + zlib.crc32(family.encode())) % EVERY == 0


def _cases():
    for family in FAMILIES:
        for i, (overload, make, kwargs, *options) in enumerate(_load(family)):
            if _is_sampled(family, i):
                name = f"{family}-{i}-{overload.removeprefix('aten::')}"
                yield pytest.param(i, overload, make, kwargs, *(options or [{}]), id=name)


def _find(overload):
    namespace, _, rest = overload.partition("::")
    name, _, kind = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), kind or "default")


def _clone(tree):
    return tree_map_only(torch.Tensor, torch.clone, tree)


def _flat(results):
    """Return the results in order; a number as a tensor, so that it compares like one."""
    leaves = [] if results is None else tree_leaves(results)
    number = (bool, int, float)
    return [torch.tensor(x) if isinstance(x, number) else x for x in leaves]


def _move(op, args, kwargs, device):
    """Move all tensors to ``device``, but the foreach overloads' list of numbers in one tensor."""
    stays = {i for i, a in enumerate(op._schema.arguments) if a.name == "scalars"}
    moved = [
        a if i in stays else tree_map_only(torch.Tensor, lambda t: t.to(device), a)
        for i, a in enumerate(args)
    ]
    return moved, tree_map_only(torch.Tensor, lambda t: t.to(device), kwargs)


def _on_device(op, args, kwargs, device):
    """Run ``op`` with its arguments on ``device``; return the results on the CPU."""
    args, kwargs = _move(op, args, kwargs, device)
    if any(a.name == "device" for a in op._schema.arguments):
        kwargs = {"device": device, **kwargs}
    return [r.cpu() if isinstance(r, torch.Tensor) else r for r in _flat(op(*args, **kwargs))]


def _plain(tensor):
    tensor = tensor.resolve_conj().resolve_neg()
    return tensor.float() if tensor.dtype in (torch.float8_e4m3fn, torch.float8_e5m2) else tensor


def _compare(got, want, options):
    if got is None or want is None:  # an undefined tensor: the two need not agree on which
        return
    rtol, atol = TOLERANCE.get(want.dtype, (0, 0))
    rtol, atol = options.get("rtol", rtol), options.get("atol", atol)
    assert got.dtype == want.dtype
    torch.testing.assert_close(_plain(got), _plain(want), rtol=rtol, atol=atol, equal_nan=True)
    if options.get("signed_zero") and want.is_floating_point():
        assert torch.equal(torch.signbit(got) | got.isnan(), torch.signbit(want) | want.isnan())


@pytest.mark.parametrize("i, overload, make, kwargs, options", _cases())
def test_rule(device, i, overload, make, kwargs, options):
    torch.manual_seed(i)
    args = make()
    try:
        _run(_find(overload), args if isinstance(args, tuple) else (args,), kwargs, options, device)
    except Exception as error:
        for k, (name, part, reason) in enumerate(KNOWN):
            if name == overload and part in str(error):
                _met.add(k)
                pytest.xfail(reason)
        raise


@pytest.mark.skipif(not ALL, reason="a sample need not meet them: TT_ALL_RULES=1")
def test_known_failures_still_fail():
    """Must stand after test_rule."""
    assert [row for k, row in enumerate(KNOWN) if k not in _met] == []


def _run(op, args, kwargs, options, device):
    if "verify" in options:
        verdict = options["verify"](_on_device(op, args, kwargs, device))
        assert verdict is not False and not isinstance(verdict, str), verdict
        return
    expect = options.get("expect", op)
    want = _flat(expect(*_clone(args), **kwargs))
    got = _on_device(op, args, kwargs, device)
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        _compare(g, w, options)


def test_every_rule_has_a_case():
    """And every case a rule: the tables are read from the source."""
    rules = Path(__file__).resolve().parents[2] / "src/lower/rules"
    for family in FAMILIES:
        lines = (rules / f"{family}.def").read_text().splitlines()
        rows = {line.split('"')[1] for line in lines if line.startswith('X("')}
        cases = {case[0] for case in _load(family)}
        assert rows <= cases, f"{family}: without a case: {sorted(rows - cases)}"
