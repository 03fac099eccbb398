"""Cases for src/lower/rules/linalg_lu.c: (overload, arguments, keywords[, options])."""

import torch

CASES = []
_F, _D, _C = torch.float32, torch.float64, torch.complex64
_A = torch.ops.aten


def _case(name, make, options=None, **kwargs):
    CASES.append((name, make, kwargs, options or {"rtol": 1e-3, "atol": 1e-3}))


def _r(*shape, dtype=_F):
    return torch.randn(shape, dtype=dtype)


def _factors(*shape, dtype=_F):
    packed, pivots, _ = _A.linalg_lu_factor_ex(_r(*shape, dtype=dtype))
    return packed.contiguous(), pivots


for _d in (_F, _D, _C):
    for _s in ((4, 4), (2, 5, 3), (3, 5), (2, 1, 6, 6)):
        _case("aten::linalg_lu_factor_ex", lambda d=_d, s=_s: (_r(*s, dtype=d),))
        _case("aten::linalg_lu", lambda d=_d, s=_s: (_r(*s, dtype=d),))
        _case("aten::lu_unpack", lambda d=_d, s=_s: _factors(*s, dtype=d))
    for _s in ((4, 4), (3, 5, 5)):
        _case("aten::linalg_inv_ex", lambda d=_d, s=_s: (_r(*s, dtype=d),))
        _case("aten::_linalg_det", lambda d=_d, s=_s: (_r(*s, dtype=d),))
        _case("aten::_linalg_slogdet", lambda d=_d, s=_s: (_r(*s, dtype=d),))
    for _left in (True, False):
        _case(
            "aten::_linalg_solve_ex",
            lambda d=_d: (_r(3, 4, 4, dtype=d), _r(3, 4, 4, dtype=d)),
            left=_left,
        )
        for _adjoint in (True, False):
            _case(
                "aten::linalg_lu_solve",
                lambda d=_d: (*_factors(2, 4, 4, dtype=d), _r(2, 4, 4, dtype=d)),
                left=_left,
                adjoint=_adjoint,
            )
    _case("aten::_linalg_solve_ex", lambda d=_d: (_r(4, 4, dtype=d), _r(4, dtype=d)))
    _case("aten::_linalg_solve_ex", lambda d=_d: (_r(3, 4, 4, dtype=d), _r(3, 4, dtype=d)))
    _case("aten::_linalg_solve_ex", lambda d=_d: (_r(4, 4, dtype=d), _r(2, 4, 3, dtype=d)))
_case("aten::linalg_lu_factor_ex", lambda: (torch.tensor([[0.0, 1.0], [0.0, 2.0]]),))
_case("aten::linalg_lu_factor_ex", lambda: (_r(0, 3, 3),))
for _d in (torch.float32, torch.complex64):
    _case("aten::_linalg_det", lambda d=_d: (_r(2, 4, 4, dtype=d).mT,))
    _case("aten::_linalg_slogdet", lambda d=_d: (_r(4, 4, dtype=d).mT,))
_case("aten::_linalg_det", lambda: (_r(0, 0),))
_case("aten::_linalg_det", lambda: (torch.ones(3, 3),))
_case("aten::_linalg_slogdet", lambda: (torch.zeros(2, 2),))
_case("aten::lu_unpack", lambda: (*_factors(4, 4), False, True))
_case("aten::lu_unpack", lambda: (*_factors(4, 4), True, False))
_case("aten::linalg_inv_ex", lambda: (torch.eye(3)[[2, 0, 1]],))
for _shape in ((0, 3), (3, 0)):
    _case("aten::linalg_lu", lambda s=_shape: (torch.zeros(s),))
