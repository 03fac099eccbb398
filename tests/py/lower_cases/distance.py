"""Cases for src/lower/rules/distance.c: (overload, arguments, keywords[, options])."""

import math

import torch

CASES = []


def _case(name, make, **kwargs):
    CASES.append(("aten::" + name, make, kwargs, {"rtol": 1e-3, "atol": 1e-4}))


def _r(*shape, dtype=torch.float32):
    x = torch.randn(shape, dtype=dtype)
    if x.dim() > 1 and x.shape[-2] > 2:
        x[..., 2, :] = x[..., 0, :]  # a distance of 0
    return x


def _cdist(p, first, second, dtype=torch.float32):
    x, y = _r(*first, dtype=dtype), _r(*second, dtype=dtype)
    dist = torch.ops.aten._cdist_forward(x, y, p, None)
    return torch.randn_like(dist), x, y, p, dist


def _pdist(p, *shape):
    x = _r(*shape)
    dist = torch.ops.aten._pdist_forward(x, p)
    return torch.randn_like(dist), x, p, dist


for _p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf):
    _case("_cdist_forward", lambda p=_p: (_r(2, 4, 3), _r(2, 5, 3), p, None))
    _case("_cdist_backward", lambda p=_p: _cdist(p, (2, 4, 3), (2, 5, 3)))
    _case("_pdist_forward", lambda p=_p: (_r(6, 3), p))
    _case("_pdist_backward", lambda p=_p: _pdist(p, 6, 3))
_case("_cdist_forward", lambda: (_r(3, 1, 4, 3), _r(2, 5, 3), 2.0, 1))
_case(
    "_cdist_forward", lambda: (_r(4, 3, dtype=torch.float64), _r(5, 3, dtype=torch.float64), 2.0, 2)
)
_case("_cdist_forward", lambda: (_r(4, 0), _r(5, 0), 2.0, None))
_case("_cdist_forward", lambda: (_r(0, 3), _r(5, 3), 1.0, None))
_case("_cdist_backward", lambda: _cdist(2.0, (4, 3), (0, 3)))
_case("_pdist_forward", lambda: (_r(1, 3), 2.0))
_case("_pdist_forward", lambda: (_r(4, 0), 2.0))
_case("_pdist_forward", lambda: (_r(211, 2), 2.0))
_case("_pdist_backward", lambda: _pdist(2.0, 70, 2))
_case("_pdist_backward", lambda: _pdist(2.0, 1, 3))
