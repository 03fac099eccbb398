"""Cases for src/lower/rules/random.c: shapes and dtypes from the CPU, values by their statistics."""

import math

import torch

CASES = []
_F, _B, _H, _D = torch.float32, torch.bfloat16, torch.float16, torch.float64
_N = (100, 101)


def _case(name, make, verify, **kwargs):
    """verify gets the first result as float64."""

    def check(got):
        if not torch.isfinite(got[0].double() if not got[0].is_complex() else got[0].abs()).all():
            return "not finite"
        return verify(got[0].double() if not got[0].is_complex() else got[0])

    CASES.append((name, make, kwargs, {"verify": check}))


def _moments(mean, std, low=-math.inf, high=math.inf, strict=False):
    def verify(x):
        tolerance = 6 * std / math.sqrt(x.numel()) + 1e-3 * max(abs(mean), std)
        if abs(x.mean().item() - mean) > tolerance:
            return f"mean {x.mean().item()}, expected {mean}"
        if abs(x.std().item() - std) > 0.05 * std + 1e-9:
            return f"std {x.std().item()}, expected {std}"
        if x.min() < low or x.max() > high or (strict and x.max() >= high):
            return f"range {x.min().item()} to {x.max().item()}"
        return True

    return verify


def _median(median, quartiles):
    def verify(x):
        q = torch.quantile(x.flatten(), torch.tensor([0.25, 0.5, 0.75], dtype=x.dtype))
        return (
            bool(abs(q[1] - median) < 0.1 and abs(q[2] - q[0] - quartiles) < 0.2)
            or f"quantiles {q}"
        )

    return verify


def _integers(low, high):
    return _moments((low + high - 1) / 2, math.sqrt(((high - low) ** 2 - 1) / 12), low, high - 1)


def _permutation(n):
    def verify(x):
        return bool(torch.equal(x.sort().values, torch.arange(n, dtype=x.dtype))) and (
            n < 20 or abs((x[: n // 2]).mean().item() - n / 2) < n / 4
        )

    return verify


_z = lambda dtype=_F, shape=_N: torch.zeros(shape, dtype=dtype)
_ROOT12 = math.sqrt(12)
for _d in (_F, _D, _B, _H):
    _case(
        "aten::uniform",
        lambda d=_d: (_z(d), -1.0, 3.0),
        _moments(1, 4 / _ROOT12, -1, 3, strict=True),
    )
    _case("aten::normal_functional", lambda d=_d: (_z(d), 2.0, 3.0), _moments(2, 3))
    _case("aten::exponential", lambda d=_d: (_z(d), 2.0), _moments(0.5, 0.5, 1e-12))
    _case(
        "aten::log_normal",
        lambda d=_d: (_z(d), 0.0, 0.25),
        _moments(math.exp(1 / 32), math.sqrt((math.exp(1 / 16) - 1) * math.exp(1 / 16)), 0),
    )
    _case("aten::cauchy", lambda d=_d: (_z(d), 1.0, 0.5), _median(1, 1))
    _case("aten::bernoulli", lambda d=_d: (_z(d) + 0.25,), _moments(0.25, math.sqrt(0.1875), 0, 1))
for _d in (_F, torch.int64):
    _case("aten::geometric", lambda d=_d: (_z(d), 0.25), _moments(4, math.sqrt(0.75) / 0.25, 1))
    _case("aten::bernoulli.p", lambda d=_d: (_z(d), 0.75), _moments(0.75, math.sqrt(0.1875), 0, 1))
_case("aten::bernoulli.p", lambda: (_z(), 1.0), lambda x: bool((x == 1).all()))
_case("aten::bernoulli.p", lambda: (_z(), 0.0), lambda x: bool((x == 0).all()))
_case(
    "aten::bernoulli.Tensor",
    lambda: (_z(torch.int32), _z(_D) + 0.25),
    _moments(0.25, math.sqrt(0.1875), 0, 1),
)
_case(
    "aten::normal_functional",
    lambda: (_z(torch.complex64), 0.0, 1.0),
    lambda x: abs((x.abs() ** 2).mean().item() - 1) < 0.05,
)
_case("aten::normal.Tensor_Tensor", lambda: (_z() + 5, torch.full((1, 101), 2.0)), _moments(5, 2))
_case("aten::normal.Tensor_float", lambda: (_z() + 5, 2.0), _moments(5, 2))
_case("aten::normal.float_Tensor", lambda: (5.0, _z() + 2), _moments(5, 2))
_case("aten::normal.float_float", lambda: (5.0, 2.0, list(_N)), _moments(5, 2))
_UNIT = _moments(0.5, 1 / _ROOT12, 0, 1, strict=True)
_case("aten::rand", lambda: (list(_N),), _UNIT)
_case("aten::rand", lambda: (list(_N),), _UNIT, dtype=_B)
_case("aten::rand.generator", lambda: (list(_N),), _UNIT, generator=None, dtype=_D)
_case("aten::rand_like", lambda: (_z(),), _UNIT)
_case("aten::randn", lambda: (list(_N),), _moments(0, 1))
_case("aten::randn", lambda: ([7],), lambda x: x.unique().numel() == 7)
_case("aten::randn", lambda: ([],), lambda x: True)
_case("aten::randn", lambda: ([0, 3],), lambda x: True)
_case("aten::randn.generator", lambda: (list(_N),), _moments(0, 1), generator=None, dtype=_H)
_case("aten::randn_like", lambda: (_z(_D),), _moments(0, 1))
_case("aten::randint", lambda: (10, list(_N)), _integers(0, 10))
_case("aten::randint.generator", lambda: (10, list(_N)), _integers(0, 10), generator=None)
_case("aten::randint.low", lambda: (-5, 10, list(_N)), _integers(-5, 10), dtype=torch.int32)
_case(
    "aten::randint.low_generator",
    lambda: (-5, 10, list(_N)),
    _integers(-5, 10),
    generator=None,
    dtype=_F,
)
_case("aten::randint_like", lambda: (_z(), 9), _integers(0, 9))
_case("aten::randint_like.low_dtype", lambda: (_z(torch.uint8), 3, 9), _integers(3, 9))
_case("aten::random", lambda: (_z(torch.uint8),), _integers(0, 256))
_case("aten::random", lambda: (_z(torch.bool),), _integers(0, 2))
_case("aten::random", lambda: (_z(torch.int64),), _integers(0, 2**63))
_case("aten::random", lambda: (_z(_F),), _integers(0, 2**24 + 1))
_case("aten::random.to", lambda: (_z(torch.int64), 10**12), _integers(0, 10**12))
_case("aten::random.from", lambda: (_z(torch.int64), -(10**6), 10**6), _integers(-(10**6), 10**6))
_case("aten::random.from", lambda: (_z(torch.int64), -(2**63), None), _integers(-(2**63), 2**63))
_case("aten::randperm", lambda: (100,), _permutation(100))
_case("aten::randperm", lambda: (5000,), _permutation(5000))
_case("aten::randperm", lambda: (0,), _permutation(0))
_case(
    "aten::randperm.generator", lambda: (10,), _permutation(10), generator=None, dtype=torch.int32
)


def _rrelu(got):
    y, noise = got
    x = torch.linspace(-3, 3, 600)
    ok = (
        torch.allclose(y, x * noise)
        and bool((noise[x > 0] == 1).all())
        and bool(((noise[x <= 0] >= 0.125) & (noise[x <= 0] <= 1 / 3)).all())
    )
    return (ok and noise[x <= 0].std().item() > 0.04) or "values"


CASES.append(
    (
        "aten::rrelu_with_noise_functional",
        lambda: (torch.linspace(-3, 3, 600), torch.zeros(600), 0.125, 1 / 3, True),
        {},
        {"verify": _rrelu},
    )
)
CASES.append(
    (
        "aten::rrelu_with_noise_functional",
        lambda: (torch.linspace(-3, 3, 60), torch.ones(60), 0.125, 0.25, False),
        {},
    )
)
