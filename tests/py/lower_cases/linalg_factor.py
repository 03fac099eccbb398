"""Cases for src/lower/rules/linalg_factor.c: vectors are unique up to signs, so results are checked by what they make."""

import torch

CASES = []
_F, _D, _C = torch.float32, torch.float64, torch.complex64


def _r(*shape, dtype=_F):
    return torch.randn(shape, dtype=dtype)


def _close(x, y, dtype):
    t = 1e-8 if dtype == _D else 1e-3
    return torch.allclose(x, y, rtol=t, atol=t)


def _case(name, make, options=None, **kwargs):
    CASES.append((name, make, kwargs, options or {"rtol": 1e-3, "atol": 1e-3}))


def _eye(q):
    return torch.eye(q.shape[-1], dtype=q.dtype).expand(*q.shape[:-2], -1, -1)


def _check_svd(a):
    def verify(got):
        u, s, vh = got
        k = s.shape[-1]
        if not _close(s, torch.linalg.svdvals(a), a.dtype):
            return "values"
        if not (_close(u.mT @ u, _eye(u), a.dtype) and _close(vh @ vh.mT, _eye(vh.mT), a.dtype)):
            return "not orthonormal"
        return _close(u[..., :k] @ (s[..., None] * vh[..., :k, :]), a, a.dtype) or "product"

    return verify


def _check_eigh(a):
    def verify(got):
        w, v = got
        if not _close(w, torch.linalg.eigvalsh(a), a.dtype):
            return "values"
        return (
            _close(v.mH @ v, _eye(v), a.dtype)
            and _close(v @ (w.to(v.dtype)[..., None] * v.mH), a, a.dtype)
        ) or "vectors"

    return verify


def _add(dtype, *shape):
    torch.manual_seed(len(CASES))
    a = _r(*shape, dtype=dtype)
    for mode in ("reduced", "complete", "r"):
        _case("aten::linalg_qr", lambda mode=mode: (a, mode))
    _case("aten::geqrf", lambda: (a,))
    k = min(a.shape[-2:])
    if a.shape[-2] >= a.shape[-1]:
        _case("aten::linalg_householder_product", lambda: torch.geqrf(a))
        _case(
            "aten::ormqr",
            lambda: (*torch.geqrf(a), _r(*shape[:-2], shape[-2], 3, dtype=dtype), True, True),
        )
        _case(
            "aten::ormqr",
            lambda: (*torch.geqrf(a), _r(*shape[:-2], 3, shape[-2], dtype=dtype), False, False),
        )
    if not dtype.is_complex:
        _case("aten::_linalg_svd", lambda: (a, False), {"verify": _check_svd(a)})
        _case("aten::_linalg_svd", lambda: (a, True), {"verify": _check_svd(a)})
        _case("aten::_linalg_svd", lambda: (a, False, False))
        low = a.clone()
        low[..., -1] = low[..., 0]
        _case("aten::_linalg_svd", lambda: (low, True), {"verify": _check_svd(low)})
    if a.shape[-1] == a.shape[-2]:
        h = a + a.mH
        _case("aten::_linalg_eigh", lambda: (h,), {"verify": _check_eigh(h)})
        _case("aten::_linalg_eigh", lambda: (h.triu(), "U"), {"verify": _check_eigh(h)})
        _case("aten::_linalg_eigh", lambda: (h, "L", False))
    assert k


for _dtype in (_F, _D, _C):
    _add(_dtype, 4, 4)
    _add(_dtype, 2, 5, 3)
    _add(_dtype, 3, 6)
_add(_F, 2, 7, 7)
_add(_F, 1, 1)
_add(_F, 4, 1)
_case("aten::_linalg_svd", lambda: (torch.zeros(4, 3),), {"verify": _check_svd(torch.zeros(4, 3))})
_case("aten::linalg_householder_product", lambda: (_r(4, 3), _r(2)))
for _shape in ((0, 3), (3, 0), (2, 0, 4)):
    for _mode in ("reduced", "complete", "r"):
        _case("aten::linalg_qr", lambda s=_shape, m=_mode: (torch.zeros(s), m))
    _case("aten::geqrf", lambda s=_shape: (torch.zeros(s),))
    for _full in (False, True):
        _case("aten::_linalg_svd", lambda s=_shape, f=_full: (torch.zeros(s), f))

for _driver in ("gels", "gelsy", "gelsd"):
    for _a, _y in (((5, 3), (5, 2)), ((3, 5), (3, 2)), ((2, 4, 4), (2, 4, 1)), ((2, 5, 3), (2, 5))):
        _case("aten::linalg_lstsq", lambda a=_a, y=_y: (_r(*a), _r(*y)), driver=_driver)
