"""Cases for src/lower/rules/loss.c: (overload, arguments, keywords[, options])."""

import torch

CASES = []
_F, _B, _D = torch.float32, torch.bfloat16, torch.float64
_T = {"rtol": 1e-4, "atol": 1e-5}
_LOOSE = {"rtol": 3e-2, "atol": 3e-2}


def _case(name, make, options=None, **kwargs):
    CASES.append((name, make, kwargs, options or _T))


def _r(*shape, dtype=_F):
    return torch.randn(shape).to(dtype)


def _g(reduction, shape, dtype=_F):
    return _r(*shape, dtype=dtype) if reduction == 0 else _r(dtype=dtype)


for _k in (0, 1, 2):
    for _d in (_F, _D, _B):
        _o = _LOOSE if _d == _B else _T
        _case("aten::mse_loss", lambda k=_k, d=_d: (_r(3, 4, dtype=d), _r(3, 4, dtype=d), k), _o)
        _case(
            "aten::mse_loss_backward",
            lambda k=_k, d=_d: (_g(k, (3, 4), d), _r(3, 4, dtype=d), _r(3, 4, dtype=d), k),
            _o,
        )
        for _e in (0.0, 0.5, 1.0):
            _case(
                "aten::smooth_l1_loss",
                lambda k=_k, d=_d, e=_e: (_r(3, 4, dtype=d), _r(3, 4, dtype=d), k, e),
                _o,
            )
            _case(
                "aten::smooth_l1_loss_backward",
                lambda k=_k, d=_d, e=_e: (
                    _g(k, (3, 4), d),
                    _r(3, 4, dtype=d),
                    _r(3, 4, dtype=d),
                    k,
                    e,
                ),
                _o,
            )
        _case(
            "aten::huber_loss",
            lambda k=_k, d=_d: (_r(3, 4, dtype=d), _r(3, 4, dtype=d), k, 0.7),
            _o,
        )
        _case(
            "aten::huber_loss_backward",
            lambda k=_k, d=_d: (_g(k, (3, 4), d), _r(3, 4, dtype=d), _r(3, 4, dtype=d), k, 0.7),
            _o,
        )
    _case("aten::soft_margin_loss", lambda k=_k: (_r(3, 4), _r(3, 4).sign(), k))
    _case(
        "aten::soft_margin_loss_backward",
        lambda k=_k: (_g(k, (3, 4)), _r(3, 4), _r(3, 4).sign(), k),
    )
    for _w in (False, True):
        _case(
            "aten::binary_cross_entropy",
            lambda k=_k, w=_w: (
                torch.rand(3, 4),
                torch.rand(3, 4),
                torch.rand(4) if w else None,
                k,
            ),
        )
        _case(
            "aten::binary_cross_entropy_backward",
            lambda k=_k, w=_w: (
                _g(k, (3, 4)),
                torch.rand(3, 4),
                torch.rand(3, 4),
                torch.rand(4) if w else None,
                k,
            ),
        )
        _case(
            "aten::binary_cross_entropy_with_logits",
            lambda k=_k, w=_w: (
                _r(3, 4),
                torch.rand(3, 4),
                torch.rand(4) if w else None,
                torch.rand(4) if w else None,
                k,
            ),
        )

        def _nll(k, w, x_shape, t_shape, dtype=_F):
            t = torch.randint(0, 4, t_shape)
            if t.dim() and t.numel() > 1:
                t.view(-1)[1] = -100
            return _r(*x_shape, dtype=dtype), t, torch.rand(4).to(dtype) if w else None, k, -100

        def _nll_back(name, k, w, x_shape, t_shape):
            a = _nll(k, w, x_shape, t_shape)
            out, total = getattr(torch.ops.aten, name)(*a)
            return torch.randn_like(out), *a, total

        for _xs, _ts in (((5, 4), (5,)), ((4,), ())):
            _case("aten::nll_loss_forward", lambda k=_k, w=_w, x=_xs, t=_ts: _nll(k, w, x, t))
            _case(
                "aten::nll_loss_backward",
                lambda k=_k, w=_w, x=_xs, t=_ts: _nll_back("nll_loss_forward", k, w, x, t),
            )
        _case("aten::nll_loss2d_forward", lambda k=_k, w=_w: _nll(k, w, (2, 4, 3, 5), (2, 3, 5)))
        _case(
            "aten::nll_loss2d_backward",
            lambda k=_k, w=_w: _nll_back("nll_loss2d_forward", k, w, (2, 4, 3, 5), (2, 3, 5)),
        )
_case("aten::mse_loss", lambda: (_r(0, 4), _r(0, 4), 1))
_case(
    "aten::binary_cross_entropy",
    lambda: (torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.tensor([0.0, 1.0, 1.0, 0.0]), None, 0),
)
_case(
    "aten::binary_cross_entropy_with_logits",
    lambda: (torch.tensor([-200.0, 200.0, 0.0]), torch.tensor([0.0, 0.0, 1.0]), None, None, 0),
)
_case("aten::nll_loss_forward", lambda: (_r(3, 4), torch.full((3,), -100), None, 1, -100))
_case(
    "aten::nll_loss_forward",
    lambda: (_r(3, 4, dtype=_B), torch.tensor([0, 1, 3]), None, 1, 1),
    _LOOSE,
)
