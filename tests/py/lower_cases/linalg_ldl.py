"""Cases for src/lower/rules/linalg_ldl.c: (overload, arguments, keywords[, options])."""

import torch

CASES = []


def _symmetric(*shape, dtype=torch.float32, zero_diagonal=False):
    a = torch.randn(shape, dtype=dtype)
    a = a + a.mT
    if zero_diagonal:  # then every block of D is 2 by 2
        a.diagonal(dim1=-2, dim2=-1).zero_()
    return a


def _add(*shape, columns=3, **kwargs):
    torch.manual_seed(len(CASES))
    a = _symmetric(*shape, **kwargs)
    options = {"rtol": 1e-3, "atol": 1e-3}
    CASES.append(("aten::linalg_ldl_factor_ex", lambda: (a,), {}, options))
    factor, pivots, _ = torch.linalg.ldl_factor_ex(a)
    y = torch.randn(*shape[:-1], columns, dtype=a.dtype)
    CASES.append(("aten::linalg_ldl_solve", lambda: (factor, pivots, y), {}, options))


for _n in (1, 2, 3, 4, 6, 9):
    _add(_n, _n)
    _add(_n, _n, dtype=torch.float64, columns=1)
    if _n % 2 == 0:
        _add(_n, _n, zero_diagonal=True)
_add(3, 2, 5, 5)
_add(2, 4, 4, zero_diagonal=True)
_add(0, 0)
CASES.append(("aten::linalg_ldl_factor_ex", lambda: (torch.zeros(3, 3),), {}))
CASES.append(("aten::linalg_ldl_factor_ex", lambda: (torch.randn(4, 4),), {}))
