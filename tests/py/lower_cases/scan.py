"""Cases for src/lower/rules/scan.c: (overload, arguments, keywords[, options])."""

import math

import torch

CASES = []
_F, _B = torch.float32, torch.bfloat16


def _case(name, make, options=None, **kwargs):
    CASES.append((name, make, kwargs, options or {"rtol": 1e-4, "atol": 1e-5}))


def _r(*shape, dtype=_F):
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=dtype)
    return (
        torch.rand(shape) > 0.4 if dtype == torch.bool else torch.randint(0, 4, shape, dtype=dtype)
    )


def _nan(*shape):
    x = torch.randn(shape)
    x.view(-1)[5::11] = math.nan
    return x


_CAST = {"rtol": 2e-2, "atol": 2e-2}
for _d in (
    _F,
    torch.float64,
    _B,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
    torch.complex64,
):
    _o = _CAST if _d == _B else None
    _case("aten::cumsum", lambda d=_d: (_r(3, 9, 2, dtype=d), 1), _o)
    _case("aten::cumprod", lambda d=_d: (_r(3, 5, dtype=d), -1), _o)
    if _d != torch.complex64:
        _case("aten::cummax", lambda d=_d: (_r(3, 9, 2, dtype=d), 1))
        _case("aten::cummin", lambda d=_d: (_r(8, 3, dtype=d), 0))
for _d in (_F, torch.float64, _B):
    _case("aten::logcumsumexp", lambda d=_d: (_r(3, 9, dtype=d), 1), _CAST if _d == _B else None)
    _case("aten::_logcumsumexp", lambda d=_d: (_r(9, 2, dtype=d), 0), _CAST if _d == _B else None)
_case("aten::cumsum", lambda: (_r(), 0))
_case("aten::cumsum", lambda: (_r(0, 3), 0))
_case("aten::cumsum", lambda: (_r(3, 0), 0))
_case("aten::cumsum", lambda: (_r(4, 1), 1))
_case("aten::cumsum", lambda: (_r(700), 0), {"rtol": 1e-3, "atol": 1e-4})
_case("aten::cumsum", lambda: (torch.tensor([1.0, math.inf, 2.0, -math.inf, 3.0]), 0))
_case("aten::cumsum", lambda: (_r(3, 4), 0), dtype=torch.float64)
_case("aten::cumsum", lambda: (_r(3, 4, dtype=torch.int32), 0), dtype=_F)
_case("aten::cumprod", lambda: (_r(), 0))
_case("aten::cummax", lambda: (_r(), 0))
_case("aten::cummax", lambda: (_nan(3, 12), 1))
_case("aten::cummin", lambda: (_nan(30), 0))
_case("aten::cummin", lambda: (_r(0, 2), 0))
_case(
    "aten::logcumsumexp", lambda: (torch.tensor([-math.inf, -math.inf, 1.0, 2.0, math.inf, 3.0]), 0)
)
_case("aten::logcumsumexp", lambda: (_nan(12), 0))
_case("aten::logcumsumexp", lambda: (torch.tensor([1000.0, 1000.0, -1000.0]), 0))
_case("aten::logcumsumexp", lambda: (_r(), 0))
