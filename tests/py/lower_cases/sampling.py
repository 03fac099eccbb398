"""Cases for src/lower/rules/sampling.c: shapes and dtypes from the CPU, values by their statistics."""

import math

import torch

CASES = []
_N = 20000


def _case(name, make, verify, options=None):
    CASES.append((name, make, {}, {"verify": lambda got: verify(got[0]), **(options or {})}))


def _moments(mean, var):
    """Mean and variance, each a number."""

    def verify(x):
        x = x.double()
        if not torch.isfinite(x).all():
            return "not finite"
        if abs(x.mean().item() - mean) > 6 * math.sqrt(var / x.numel()) + 1e-9:
            return f"mean {x.mean().item()}, expected {mean}"
        if abs(x.var().item() - var) > 0.08 * var + 1e-9:
            return f"variance {x.var().item()}, expected {var}"
        return True

    return verify


for _r in (0.5, 3.0, 9.9, 10.0, 40.0, 1000.0):
    _case("aten::poisson", lambda r=_r: (torch.full((_N,), r),), _moments(_r, _r))
_case("aten::poisson", lambda: (torch.zeros(50),), lambda x: bool((x == 0).all()))
_case("aten::poisson", lambda: (torch.full((_N,), 4.0, dtype=torch.bfloat16),), _moments(4, 4))
for _n, _p in ((5, 0.3), (20, 0.5), (30, 0.9), (100, 0.25), (1000, 0.7), (10, 0.01)):
    _case(
        "aten::binomial",
        lambda n=_n, p=_p: (torch.full((_N,), float(n)), torch.full((_N,), p)),
        _moments(_n * _p, _n * _p * (1 - _p)),
    )
_case(
    "aten::binomial",
    lambda: (torch.full((50,), 7.0), torch.ones(50)),
    lambda x: bool((x == 7).all()),
)
_case(
    "aten::binomial",
    lambda: (torch.full((50,), 100.0), torch.zeros(50)),
    lambda x: bool((x == 0).all()),
)
for _a in (0.1, 0.5, 1.0, 2.5, 50.0):
    _case("aten::_standard_gamma", lambda a=_a: (torch.full((_N,), a),), _moments(_a, _a))
_case(
    "aten::_standard_gamma", lambda: (torch.full((_N,), 2.0, dtype=torch.float64),), _moments(2, 2)
)
_case(
    "aten::_sample_dirichlet",
    lambda: (torch.tensor([1.0, 2.0, 3.0]).expand(4000, 3).contiguous(),),
    lambda x: (
        bool(
            torch.allclose(x.sum(-1), torch.ones(4000))
            and torch.allclose(x.mean(0), torch.tensor([1, 2, 3]) / 6, atol=0.02)
        )
        or str(x.mean(0))
    ),
)
_W = torch.tensor([1.0, 0.0, 2.0, 5.0, 0.0])


def _shares(x):
    f = torch.bincount(x.flatten(), minlength=5) / x.numel()
    return bool(torch.allclose(f, _W / 8, atol=0.02)) or f"shares {f.tolist()}"


_case("aten::multinomial", lambda: (_W, _N, True), _shares)
_case("aten::multinomial", lambda: (_W.expand(3, 5).contiguous(), 4000, True), _shares)
_case("aten::multinomial", lambda: (_W.expand(_N, 5).contiguous(), 1), _shares)
_case("aten::multinomial", lambda: (_W, 3), lambda x: sorted(x.tolist()) == [0, 2, 3])
_case(
    "aten::multinomial",
    lambda: (torch.rand(6, 9, dtype=torch.float64), 9),
    lambda x: bool((x.sort(-1).values == torch.arange(9)).all()),
)
_case(
    "aten::multinomial",
    lambda: (torch.rand(6, 9).half(), 2, False),
    lambda x: bool((x[:, 0] != x[:, 1]).all()),
)
