"""Cases for src/lower/rules/linalg.c: (overload, arguments, keywords[, options])."""

import torch

CASES = []
_F, _D, _C = torch.float32, torch.float64, torch.complex64


def _case(name, make, options=None, **kwargs):
    CASES.append((name, make, kwargs, options or {"rtol": 1e-3, "atol": 1e-4}))


def _r(*shape, dtype=_F):
    return torch.randn(shape, dtype=dtype)


def _spd(*shape, dtype=_F):
    a = _r(*shape, dtype=dtype)
    return a @ a.mH + torch.eye(shape[-1], dtype=dtype)


def _tri(*shape, dtype=_F, upper=False):
    a = _r(*shape, dtype=dtype) + 4 * torch.eye(shape[-1], dtype=dtype)
    return a.triu() if upper else a.tril()


def _factor(*shape, dtype=_F, upper=False):
    return torch.linalg.cholesky(_spd(*shape, dtype=dtype), upper=upper)


for _d in (_F, _D, _C):
    for _u in (False, True):
        _case("aten::linalg_cholesky_ex", lambda d=_d, u=_u: (_spd(2, 4, 4, dtype=d),), upper=_u)
        _case("aten::cholesky", lambda d=_d, u=_u: (_spd(4, 4, dtype=d), u))
        _case(
            "aten::_cholesky_solve_helper",
            lambda d=_d, u=_u: (_r(2, 4, 3, dtype=d), _tri(2, 4, 4, dtype=d, upper=u), u),
        )
        _case("aten::cholesky_inverse", lambda d=_d, u=_u: (_factor(4, 4, dtype=d, upper=u), u))
        _case(
            "aten::linalg_solve_triangular",
            lambda d=_d, u=_u: (_tri(2, 4, 4, dtype=d, upper=u), _r(4, 3, dtype=d)),
            upper=_u,
        )
        _case(
            "aten::linalg_solve_triangular",
            lambda d=_d, u=_u: (_tri(4, 4, dtype=d, upper=u) / 4, _r(3, 4, dtype=d)),
            upper=_u,
            left=False,
            unitriangular=True,
        )
        _case(
            "aten::triangular_solve",
            lambda d=_d, u=_u: (
                _r(2, 4, 3, dtype=d),
                _tri(2, 4, 4, dtype=d, upper=u),
                u,
                True,
                False,
            ),
        )
    _case("aten::linalg_cross", lambda d=_d: (_r(4, 3, dtype=d), _r(4, 3, dtype=d)))
    _case("aten::linalg_matrix_exp", lambda d=_d: (_r(2, 4, 4, dtype=d),))
_case("aten::linalg_cross", lambda: (_r(3, 4), _r(3, 1)), dim=0)
_case(
    "aten::linalg_cross", lambda: (torch.arange(6).view(2, 3), torch.arange(6).flip(0).view(2, 3))
)
_case("aten::linalg_cholesky_ex", lambda: (_r(0, 3, 3),))
_case(
    "aten::linalg_cholesky_ex",
    lambda: (torch.diag(torch.tensor([1.0, -1.0, 2.0])),),
    {"verify": lambda got: int(got[1]) > 0},
)
_case("aten::linalg_matrix_exp", lambda: (torch.zeros(3, 3),))
_case("aten::linalg_matrix_exp", lambda: (_r(3, 3) * 3,), {"rtol": 1e-3, "atol": 1e-2})
_case("aten::linalg_matrix_exp", lambda: (_r(3, 3, dtype=_D) * 5,), {"rtol": 1e-9, "atol": 1e-9})
