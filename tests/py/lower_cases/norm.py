"""Cases for src/lower/rules/norm.c: (overload, arguments, keywords[, options])."""

import math

import torch

_F, _B, _H, _D = torch.float32, torch.bfloat16, torch.float16, torch.float64
_A = torch.ops.aten
CASES = []


def _case(name, make, options=None, **kwargs):
    CASES.append((name, make, kwargs) if options is None else (name, make, kwargs, options))


def _r(*shape, dtype=_F):
    return torch.randn(shape).to(dtype)


def _softmax_args(shape, dim, dtype, log):
    y = torch.randn(shape).log_softmax(dim) if log else torch.randn(shape).softmax(dim)
    return _r(*shape, dtype=dtype), y.to(dtype), dim, dtype


def _loose(dtype):
    return (
        {"rtol": 2e-2, "atol": 2e-2}
        if dtype == _B
        else {"rtol": 5e-3, "atol": 5e-3}
        if dtype == _H
        else {"rtol": 1e-4, "atol": 1e-5}
    )


def _layer_norm(*args):
    """As on the CPU, but with statistics in the accelerator's dtype, which is what the meta kernel gives."""
    out, mean, rstd = _A.native_layer_norm(*args)
    wide = torch.promote_types(args[0].dtype, _F)
    return out, mean.to(wide), rstd.to(wide)


for _d in (_F, _D, _B, _H):
    _case("aten::_softmax", lambda d=_d: (_r(3, 7, dtype=d), -1, False))
    _case("aten::_log_softmax", lambda d=_d: (_r(3, 7, 2, dtype=d), 1, False))
    _case(
        "aten::_softmax_backward_data", lambda d=_d: _softmax_args((4, 6), 1, d, False), _loose(_d)
    )
    _case(
        "aten::_log_softmax_backward_data",
        lambda d=_d: _softmax_args((4, 6), 0, d, True),
        _loose(_d),
    )
    _case(
        "aten::native_layer_norm",
        lambda d=_d: (_r(4, 3, 8, dtype=d), [8], _r(8, dtype=d), _r(8, dtype=d), 1e-5),
        {**_loose(_d), "expect": _layer_norm},
    )
    _case(
        "aten::native_group_norm",
        lambda d=_d: (_r(2, 6, 5, dtype=d), _r(6, dtype=d), _r(6, dtype=d), 2, 6, 5, 3, 1e-5),
        _loose(_d),
    )
    if _d != _H:
        _case(
            "aten::_weight_norm_interface",
            lambda d=_d: (_r(4, 3, 2, dtype=d), _r(4, 1, 1, dtype=d), 0),
            _loose(_d),
        )
_case("aten::_softmax", lambda: (_r(), 0, False))
_case("aten::_softmax", lambda: (_r(0, 3), 1, False))
_case(
    "aten::_softmax",
    lambda: (
        torch.tensor([[1e4, 1e4 + 1], [-math.inf, -math.inf], [-math.inf, 0], [math.nan, 1]]),
        1,
        False,
    ),
)
_case(
    "aten::_softmax",
    lambda: (_r(4, 5, dtype=_H), 1, True),
    {"expect": lambda x, d, h: x.float().softmax(d), "wanted": lambda x, d, h: [x.float()]},
)
_case("aten::_log_softmax", lambda: (_r(), 0, False))
_case(
    "aten::_log_softmax",
    lambda: (_r(4, 5, dtype=_B), 1, True),
    {"expect": lambda x, d, h: x.float().log_softmax(d), "wanted": lambda x, d, h: [x.float()]},
)
_case(
    "aten::_safe_softmax",
    lambda: (torch.tensor([[1.0, 2.0], [-math.inf, -math.inf], [-math.inf, 0]]), -1),
)
_case("aten::_safe_softmax", lambda: (_r(3, 4, dtype=_B), 0))


def _ln_back(shape, normalized, dtype=_F, affine=True):
    x, g = _r(*shape, dtype=dtype), _r(*shape, dtype=dtype)
    w, b = (_r(*normalized, dtype=dtype), _r(*normalized, dtype=dtype)) if affine else (None, None)
    _, mean, rstd = _A.native_layer_norm(x, normalized, w, b, 1e-5)
    return g, x, normalized, mean, rstd, w, b, [True, affine, affine]


_case("aten::native_layer_norm", lambda: (_r(4, 3, 8), [3, 8], None, None, 1e-3), {"rtol": 1e-4})
_case("aten::native_layer_norm", lambda: (_r(8), [8], _r(8), None, 1e-5), {"rtol": 1e-4})
_case(
    "aten::native_layer_norm",
    lambda: (_r(5, 8, dtype=_B), [8], _r(8), _r(8), 1e-5),
    {**_loose(_B), "expect": _layer_norm},
)
_case(
    "aten::native_layer_norm_backward",
    lambda: _ln_back((4, 3, 8), [8]),
    {"rtol": 1e-4, "atol": 1e-5},
)
_case(
    "aten::native_layer_norm_backward",
    lambda: _ln_back((4, 3, 8), [3, 8]),
    {"rtol": 1e-4, "atol": 1e-5},
)
_case("aten::native_layer_norm_backward", lambda: _ln_back((8,), [8]), {"rtol": 1e-4, "atol": 1e-5})
_case(
    "aten::native_layer_norm_backward",
    lambda: _ln_back((4, 3, 8), [8], _B),
    {"rtol": 5e-2, "atol": 5e-2},
)


def _gn_back(dtype=_F, affine=True):
    x, g = _r(2, 6, 3, 2, dtype=dtype), _r(2, 6, 3, 2, dtype=dtype)
    w, b = (_r(6, dtype=dtype), _r(6, dtype=dtype)) if affine else (None, None)
    _, mean, rstd = _A.native_group_norm(x, w, b, 2, 6, 6, 3, 1e-5)
    return g, x, mean, rstd, w, 2, 6, 6, 3, [True, True, True]


_case("aten::native_group_norm", lambda: (_r(2, 6), None, None, 2, 6, 1, 2, 1e-5), {"rtol": 1e-4})
_case(
    "aten::native_group_norm",
    lambda: (_r(2, 6, 3, 2), _r(6), None, 2, 6, 6, 1, 1e-5),
    {"rtol": 1e-4, "atol": 1e-5},
)
_case("aten::native_group_norm_backward", _gn_back, {"rtol": 1e-4, "atol": 1e-5})


def _bn(dtype=_F, shape=(4, 3, 5), affine=True):
    w, b = (_r(3, dtype=dtype), _r(3, dtype=dtype)) if affine else (None, None)
    return _r(*shape, dtype=dtype), w, b, _r(3, dtype=dtype), torch.rand(3).to(dtype) + 0.5


_BN = {"rtol": 1e-4, "atol": 1e-5}


def _as_cpu(name):
    """In evaluation the CPU kernel leaves save_mean and save_invstd empty, where the Python meta kernel says [C]."""

    def wanted(*args):
        op = getattr(_A, name)
        return list(op(*(a.clone() if isinstance(a, torch.Tensor) else a for a in args)))

    return {**_BN, "wanted": wanted}


for _s in ((4, 3), (4, 3, 5), (2, 3, 4, 5)):
    for _t in (True, False):
        _case(
            "aten::_native_batch_norm_legit_functional",
            lambda s=_s, t=_t: (*_bn(shape=s), t, 0.1, 1e-5),
            _as_cpu("_native_batch_norm_legit_functional"),
        )
        _case(
            "aten::native_batch_norm",
            lambda s=_s, t=_t: (*_bn(shape=s), t, 0.1, 1e-5),
            _as_cpu("native_batch_norm"),
        )
_case(
    "aten::native_batch_norm", lambda: (_r(4, 3, 5), None, None, None, None, True, 0.1, 1e-5), _BN
)
_case("aten::_native_batch_norm_legit.no_stats", lambda: (*_bn()[:3], True, 0.1, 1e-5), _BN)
_case(
    "aten::_native_batch_norm_legit_no_training",
    lambda: (*_bn(), 0.1, 1e-5),
    _as_cpu("_native_batch_norm_legit_no_training"),
)
_case("aten::_batch_norm_with_update_functional", lambda: (*_bn(), 0.1, 1e-5), _BN)
_case("aten::_batch_norm_no_update", lambda: (*_bn(), 0.1, 1e-5), _as_cpu("_batch_norm_no_update"))


def _bn_back(train, affine=True, dtype=_F):
    x, w, b, rm, rv = _bn(affine=affine, dtype=dtype)
    _, mean, invstd = _A.native_batch_norm(x, w, b, rm.clone(), rv.clone(), train, 0.1, 1e-5)
    return _r(4, 3, 5, dtype=dtype), x, w, rm, rv, mean, invstd, train, 1e-5, [True, True, True]


_case("aten::native_batch_norm_backward", lambda: _bn_back(True), _BN)
_case("aten::native_batch_norm_backward", lambda: _bn_back(False), _BN)
_case("aten::native_batch_norm_backward", lambda: _bn_back(True, affine=False), _BN)
_case(
    "aten::batch_norm_backward", lambda: (*_bn_back(True), torch.empty(0, dtype=torch.uint8)), _BN
)
_case(
    "aten::batch_norm_backward", lambda: (*_bn_back(False), torch.empty(0, dtype=torch.uint8)), _BN
)


def _dropped(p):
    def verify(got):
        y, mask = got
        kept = mask.float().mean().item()
        if abs(kept - (1 - p)) > 0.03:
            return f"{kept} kept"
        want = mask.float() * (1 / (1 - p) if p < 1 else 0)
        return bool(torch.allclose(y, want)) or "values"

    return {"verify": verify}


for _p in (0.0, 0.1, 0.5, 1.0):
    _case("aten::native_dropout", lambda p=_p: (torch.ones(64, 64), p, True), _dropped(_p))
_case("aten::native_dropout", lambda: (_r(3, 4), 0.5, False))
_case("aten::native_dropout_backward", lambda: (_r(3, 4), torch.rand(3, 4) > 0.5, 2.0))
_case("aten::native_dropout_backward", lambda: (_r(3, 4, dtype=_B), torch.rand(3, 4) > 0.5, 1.25))


def _wn_back(dim):
    v = _r(4, 3, 5)
    g = _r(4, 1, 1) if dim == 0 else _r(1, 1, 5)
    _, norms = _A._weight_norm_interface(v, g, dim)
    return _r(4, 3, 5), v, g, norms, dim


_case("aten::_weight_norm_interface", lambda: (_r(4, 3, 5), _r(1, 1, 5), 2))
_case("aten::_weight_norm_interface_backward", lambda: _wn_back(0), _BN)
_case("aten::_weight_norm_interface_backward", lambda: _wn_back(2), _BN)
for _p in (1, 2, 3, math.inf):
    _case("aten::renorm", lambda p=_p: (_r(4, 3, 2), p, 1, 1.5), _BN)
_case("aten::renorm", lambda: (_r(4, 3, dtype=torch.complex64), 2, -1, 1.0), _BN)
_case(
    "aten::_masked_scale",
    lambda: (_r(4, 3), torch.randint(0, 2, (4, 3), dtype=torch.uint8), 1.25),
    {"expect": lambda x, m, s: x * m * s},
)
