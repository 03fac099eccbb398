"""Cases of the pointwise rules: (overload, arguments, keyword arguments, options).

Option ``promote: False``: only with constant numbers (PyTorch treats this number specially)."""

import math

import torch

INF, NAN = math.inf, math.nan
FLOATS = [
    -INF,
    -100.25,
    -3.7,
    -2.5,
    -1.0,
    -0.5,
    -0.3,
    -0.0,
    0.0,
    1e-3,
    0.3,
    0.5,
    1.0,
    1.5,
    2.5,
    3.7,
    20.0,
    INF,
    NAN,
]
CASES = []


def add(overload, make, options=None, **kwargs):
    CASES.append((overload, make, kwargs, options or {}))


def floats(dtype=torch.float32):
    return torch.tensor(FLOATS, dtype=dtype)


def pairs(dtype=torch.float32):
    """Every pair of the special numbers, as a column and a row."""
    values = floats(dtype)
    return values[:, None].clone(), values.clone()


def ints(dtype=torch.int64):
    low = 0 if dtype == torch.uint8 else -7
    return torch.arange(low, 9, dtype=dtype)


def int_pairs(dtype=torch.int64):
    """Every pair whose divisor is not 0."""
    values = ints(dtype)
    return values[:, None].clone(), values[values != 0].clone()


def complexes(dtype=torch.complex64):
    real = torch.tensor([-2.0, -0.5, 0.0, 0.5, 1.5])
    return torch.complex(real[:, None].expand(5, 5), real.expand(5, 5)).to(dtype)


# ---- of one argument ----
FLOAT_UNARY = """abs acos acosh angle asin asinh atan atanh ceil cos cosh deg2rad exp exp2 expm1 floor frac log log10
log1p log2 logit neg rad2deg reciprocal round rsqrt sgn sign signbit sin sinc sinh sqrt tan tanh trunc isnan isinf
isneginf isposinf nan_to_num logical_not _conj_physical zero""".split()
INT_UNARY = """abs acos angle asinh atan ceil cos exp exp2 floor log2 neg reciprocal round rsqrt sgn sign signbit sinc
sqrt tanh trunc isnan isinf isneginf isposinf nan_to_num logical_not bitwise_not deg2rad logit zero""".split()
BOOL_UNARY = (
    """cos exp sgn signbit sqrt isnan isinf isposinf logical_not bitwise_not zero""".split()
)
COMPLEX_UNARY = """abs acos angle asin asinh atan cos cosh exp log log10 log2 neg reciprocal rsqrt sgn sin sinh
sqrt tan tanh isnan isinf logical_not _conj_physical zero""".split()
for name in FLOAT_UNARY:
    add(
        "aten::" + name,
        lambda: (floats(),),
        {"signed_zero": name in ("round", "trunc", "ceil", "floor", "sqrt", "neg")},
    )
    add("aten::" + name, lambda: (torch.randn(3, 0, 2),))
    add("aten::" + name, lambda: (torch.rand(()),))
    add("aten::" + name, lambda: (floats(torch.bfloat16),))
for name in ("exp", "log", "sqrt", "tanh", "sinc", "exp2", "acosh", "log10", "expm1"):
    add("aten::" + name, lambda: (floats(torch.float64),))
    add("aten::" + name, lambda: (floats(torch.float16),))
for name in INT_UNARY:
    add("aten::" + name, lambda: (ints(),))
    add("aten::" + name, lambda: (ints(torch.uint8),))
for name in BOOL_UNARY:
    add("aten::" + name, lambda: (torch.tensor([True, False]),))
for name in COMPLEX_UNARY:
    add("aten::" + name, lambda: (complexes(),), {"rtol": 1e-4, "atol": 1e-5})
add("aten::nan_to_num", lambda: (floats(), 1.5, 7.0, -7.0))
add("aten::nan_to_num", lambda: (floats(), 1.5, None, None))
add("aten::logit", lambda: (torch.rand(9), 0.2))
add(
    "aten::logit_backward", lambda: (torch.randn(5), torch.tensor([-0.5, 0.0, 0.3, 0.9, 1.5]), None)
)
add("aten::logit_backward", lambda: (torch.randn(5), torch.tensor([-0.5, 0.0, 0.3, 0.9, 1.5]), 0.2))
for decimals in (0, 2, -1):
    add(
        "aten::round.decimals",
        lambda d=decimals: (torch.tensor([12.345, -25.555, 15.0, 0.125]),),
        decimals=decimals,
    )
for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
    add(
        "aten::frexp.Tensor",
        lambda d=dtype: (torch.tensor([0.0, -0.0, 1.0, -0.75, 1234.5, 3e-5], dtype=d),),
    )
for dtype in (torch.float32, torch.int64, torch.bool, torch.bfloat16):
    add("aten::fill.Scalar", lambda d=dtype: (torch.ones(2, 3).to(d), 1))
add("aten::fill.Scalar", lambda: (torch.ones(2, 3), 2.5))
add("aten::fill.Tensor", lambda: (torch.ones(2, 3), torch.tensor(3)))

# ---- of two ----
for name in "add.Tensor sub.Tensor rsub.Tensor".split():
    add("aten::" + name, lambda: pairs())
    add("aten::" + name, lambda: (torch.randn(2, 1, 3), torch.randn(4, 1)), alpha=-2.5)
    add("aten::" + name, lambda: (ints(torch.int32), ints(torch.uint8)[:1]), alpha=3)
    add("aten::" + name, lambda: (complexes(), complexes()), alpha=2)
    add(
        "aten::" + name,
        lambda: (torch.randn(3).bfloat16(), torch.randn(3).bfloat16()),
        {"atol": 4e-3},
        alpha=0.3,
    )
    add("aten::" + name, lambda: (torch.randn(3, dtype=torch.float16), torch.randn(())))
    add("aten::" + name, lambda: (torch.randn(0, 3), torch.randn(1, 3)))
for name in "add.Scalar sub.Scalar rsub.Scalar".split():
    add("aten::" + name, lambda: (torch.randn(3), 1.5))
    add("aten::" + name, lambda: (ints(), 2.5))
    add("aten::" + name, lambda: (ints(), 3, 2))
    add("aten::" + name, lambda: (torch.randn(3, dtype=torch.bfloat16), 0.1))
add("aten::add.Tensor", lambda: (torch.tensor([True, False]), torch.tensor([[True], [False]])))
add("aten::add.Tensor", lambda: (torch.randn(3), 2))
add("aten::mul.Tensor", lambda: pairs())
add("aten::mul.Tensor", lambda: (torch.tensor([True, False]), torch.tensor([[True], [False]])))
add("aten::mul.Tensor", lambda: (complexes(), torch.randn(5)))
add("aten::mul.Tensor", lambda: (ints(torch.int8), ints(torch.int8)[:, None]))
add("aten::mul.Tensor", lambda: (torch.randn(5, dtype=torch.bfloat16), 0.1))
add("aten::mul.Scalar", lambda: (torch.randn(5), 3))
add("aten::mul.Scalar", lambda: (ints(), 1.5))
for dtype in (torch.float32, torch.bfloat16):
    add("aten::div.Tensor", lambda d=dtype: pairs(d))
    for mode in (None, "trunc", "floor"):
        add("aten::div.Tensor_mode", lambda d=dtype: pairs(d), rounding_mode=mode)
    add("aten::floor_divide", lambda d=dtype: pairs(d))
    add("aten::fmod.Tensor", lambda d=dtype: pairs(d))
    add("aten::remainder.Tensor", lambda d=dtype: pairs(d))
for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
    add("aten::div.Tensor", lambda d=dtype: int_pairs(d))
    for mode in ("trunc", "floor"):
        add("aten::div.Tensor_mode", lambda d=dtype: int_pairs(d), rounding_mode=mode)
    add("aten::floor_divide", lambda d=dtype: int_pairs(d))
    add("aten::fmod.Tensor", lambda d=dtype: int_pairs(d))
    add("aten::remainder.Tensor", lambda d=dtype: int_pairs(d))
    add("aten::gcd", lambda d=dtype: (ints(d)[:, None], ints(d)))
    add("aten::lcm", lambda d=dtype: (ints(d)[:, None], ints(d)))
add("aten::div.Tensor", lambda: (complexes(), complexes() + 3), {"rtol": 1e-4})
add("aten::div.Tensor", lambda: (torch.tensor([True, False]), torch.tensor(True)))
add("aten::div.Scalar", lambda: (ints(), 4))
add("aten::div.Scalar_mode", lambda: (ints(), 3), rounding_mode="floor")
add("aten::div.Scalar_mode", lambda: (floats(), 0.7), rounding_mode="trunc")
add("aten::floor_divide.Scalar", lambda: (ints(), -3))
add("aten::fmod.Scalar", lambda: (floats(), 1.5))
add("aten::remainder.Scalar", lambda: (floats(), -1.5))
add("aten::remainder.Scalar_Tensor", lambda: (7, floats()))

for name in "eq ne ge gt le lt".split():
    add(f"aten::{name}.Tensor", lambda: pairs())
    add(f"aten::{name}.Tensor", lambda: (ints()[:, None], ints(torch.uint8)))
    add(
        f"aten::{name}.Tensor",
        lambda: (torch.tensor([True, False]), torch.tensor([[True], [False]])),
    )
    add(f"aten::{name}.Tensor", lambda: (ints(), floats()[:1]))
    add(f"aten::{name}.Scalar", lambda: (floats(), 0.3))
    add(f"aten::{name}.Scalar", lambda: (floats(torch.bfloat16), 0.3))
    add(f"aten::{name}.Scalar", lambda: (ints(), 2.5))
    add(f"aten::{name}.Scalar", lambda: (ints(torch.uint8), 3))
for name in ("eq", "ne"):
    add(f"aten::{name}.Tensor", lambda: (complexes(), complexes()[:1]))
for name in "logical_and logical_or logical_xor".split():
    add(f"aten::{name}", lambda: pairs())
    add(f"aten::{name}", lambda: (ints(), torch.rand(16) > 0.5))
    add(f"aten::{name}", lambda: (complexes(), complexes()[:1]))
for name in "bitwise_and bitwise_or bitwise_xor".split():
    add(f"aten::{name}.Tensor", lambda: (ints()[:, None], ints()))
    add(
        f"aten::{name}.Tensor",
        lambda: (torch.tensor([True, False]), torch.tensor([[True], [False]])),
    )
    add(f"aten::{name}.Scalar", lambda: (ints(torch.uint8), 5))
    add(f"aten::{name}.Scalar_Tensor", lambda: (5, ints(torch.int32)))
for name in "bitwise_left_shift bitwise_right_shift".split():
    for dtype in (torch.int64, torch.int32, torch.uint8, torch.int8):
        add(
            f"aten::{name}.Tensor",
            lambda d=dtype: (ints(d)[:, None], torch.tensor([0, 1, 3, 7], dtype=d)),
        )
    add(f"aten::{name}.Tensor_Scalar", lambda: (ints(), 2))
    add(f"aten::{name}.Scalar_Tensor", lambda: (5, ints().abs()))
for name in "__lshift__ __rshift__".split():
    add(f"aten::{name}.Scalar", lambda: (ints(), 2))
    add(f"aten::{name}.Tensor", lambda: (ints(), ints().abs()))

for name in "atan2 copysign.Tensor fmax fmin maximum minimum hypot logaddexp logaddexp2 xlogy.Tensor heaviside".split():
    add("aten::" + name, lambda: pairs())
    add("aten::" + name, lambda: pairs(torch.bfloat16))
add("aten::nextafter", lambda: pairs(), {"rtol": 0, "atol": 0})
add("aten::nextafter", lambda: pairs(torch.float64), {"rtol": 0, "atol": 0})
for name in "atan2 fmax fmin maximum minimum xlogy.Tensor heaviside copysign.Tensor".split():
    add("aten::" + name, lambda: (ints()[:, None], ints()))
for name in "maximum minimum heaviside".split():
    add("aten::" + name, lambda: (torch.tensor([True, False]), torch.tensor([[True], [False]])))
add("aten::logaddexp", lambda: (complexes(), complexes()[:1]), {"rtol": 1e-4, "atol": 1e-5})
add("aten::copysign.Scalar", lambda: (floats(), -1.0))
add("aten::ldexp.Tensor", lambda: (torch.randn(6), torch.tensor([-3, 0, 1, 2, 5, 8])))
add("aten::special_xlog1py", lambda: (floats()[:, None], torch.tensor([-0.5, 0.0, 2.0, NAN, -1.0])))
for name in ("special_xlog1py.other_scalar", "xlogy.Scalar_Other"):
    add("aten::" + name, lambda: (floats(), 2.0))
for name in ("special_xlog1py.self_scalar", "xlogy.Scalar_Self"):
    add("aten::" + name, lambda: (2, floats()))
for shift in (torch.float32, torch.float64):
    add("aten::complex", lambda d=shift: (torch.randn(3, 1, dtype=d), torch.randn(4, dtype=d)))
    add("aten::polar", lambda d=shift: (torch.rand(3, 1, dtype=d), torch.randn(4, dtype=d)))

# ---- powers ----
for exponent in (0, 1, 2, 3, 4, -1, -2, 0.5, -0.5, 0.37, -3.5, 2.0):
    add(
        "aten::pow.Tensor_Scalar",
        lambda e=exponent: (floats(), e),
        {"rtol": 1e-4, "promote": exponent not in (0.5, -0.5)},
    )
    add("aten::pow.Tensor_Scalar", lambda e=exponent: (torch.rand(4).bfloat16(), e))
for exponent in (0, 1, 2, 3, 5, 2.5, -1.5):
    add("aten::pow.Tensor_Scalar", lambda e=exponent: (ints(), e))
add("aten::pow.Tensor_Scalar", lambda: (complexes(), 2), {"rtol": 1e-4})
add("aten::pow.Tensor_Scalar", lambda: (complexes() + 3, 1.5), {"rtol": 1e-4})
add("aten::pow.Tensor_Tensor", lambda: pairs(), {"rtol": 1e-4})
add("aten::pow.Tensor_Tensor", lambda: (ints()[:, None], ints()))
add("aten::pow.Tensor_Tensor", lambda: (ints(torch.uint8), ints(torch.uint8)))
add("aten::pow.Scalar", lambda: (2, floats()), {"rtol": 1e-4})
add("aten::pow.Scalar", lambda: (1, floats()))
add("aten::pow.Scalar", lambda: (0.5, ints()))

# ---- of three ----
for low, high in ((-1, 1), (None, 0.5), (-0.5, None), (1, -1), (NAN, 1.0)):
    add("aten::clamp", lambda lo=low, hi=high: (floats(), lo, hi))
add("aten::clamp", lambda: (ints(), -2, 3))
add("aten::clamp", lambda: (ints(), -2.5, 3))
add("aten::clamp", lambda: (floats(torch.bfloat16), -1, 1))
add(
    "aten::clamp.Tensor",
    lambda: (torch.randn(3, 4), torch.full((4,), -0.5), torch.full((3, 1), 0.5)),
)
add("aten::clamp.Tensor", lambda: (torch.randn(3, 4), None, torch.full((3, 1), 0.5)))
add("aten::clamp.Tensor", lambda: (ints(), torch.tensor(-1), None))
for name in ("clamp_min", "clamp_max"):
    add(f"aten::{name}", lambda: (floats(), 0.5))
    add(f"aten::{name}", lambda: (ints(), 2))
    add(f"aten::{name}", lambda: (floats(), NAN))
    add(f"aten::{name}.Tensor", lambda: pairs())
add("aten::where.self", lambda: (torch.rand(3, 4) > 0.5, torch.randn(4), torch.randn(3, 1)))
add("aten::where.self", lambda: (torch.rand(3, 4) > 0.5, ints()[:4], torch.randn(3, 1)))
add(
    "aten::where.self",
    lambda: (torch.tensor([1, 0], dtype=torch.uint8), torch.randn(2), torch.randn(2)),
)
add("aten::where.self", lambda: (torch.rand(2) > 0.5, complexes()[0, :2], complexes()[1, :2]))
add("aten::masked_fill.Scalar", lambda: (torch.randn(3, 4), torch.rand(4) > 0.5, -INF))
add("aten::masked_fill.Scalar", lambda: (torch.randn(4), torch.rand(3, 4) > 0.5, 2))
add("aten::masked_fill.Scalar", lambda: (ints(), ints() > 2, 9))
add(
    "aten::masked_fill.Scalar",
    lambda: (torch.randn(4, dtype=torch.bfloat16), torch.rand(4) > 0.5, -1e9),
)
add("aten::masked_fill.Tensor", lambda: (torch.randn(3, 4), torch.rand(4) > 0.5, torch.tensor(7)))
for name in ("addcmul", "addcdiv"):
    add("aten::" + name, lambda: (torch.randn(3, 4), torch.randn(4), torch.rand(3, 1) + 1))
    add(
        "aten::" + name,
        lambda: (torch.randn(3, 4), torch.randn(4), torch.rand(3, 1) + 1),
        value=-0.3,
    )
    add(
        "aten::" + name,
        lambda: (
            torch.randn(4).bfloat16(),
            torch.randn(4).bfloat16(),
            torch.rand(4).bfloat16() + 1,
        ),
        value=0.1,
    )
add("aten::addcmul", lambda: (ints(), ints(), ints()), value=3)
for weight in (0, 0.3, 0.7, 1, 2.5):
    add("aten::lerp.Scalar", lambda w=weight: (torch.randn(3, 4), torch.randn(4), w))
add("aten::lerp.Scalar", lambda: (torch.randn(4).bfloat16(), torch.randn(4).bfloat16(), 0.9))
add("aten::lerp.Tensor", lambda: (torch.randn(3, 4), torch.randn(4), torch.rand(3, 1)))
add("aten::lerp.Tensor", lambda: (torch.randn(3, 4), torch.randn(4), torch.tensor(0.6)))
add("aten::lerp.Scalar", lambda: (complexes(), complexes() + 1, 0.3))
for name in ("_add_relu.Tensor",):
    add("aten::" + name, lambda: (torch.randn(3, 4), torch.randn(4)), alpha=2)
add("aten::_add_relu.Scalar", lambda: (torch.randn(3, 4), 0.5))
