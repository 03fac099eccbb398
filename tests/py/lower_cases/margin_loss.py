"""Cases for src/lower/rules/margin_loss.c: (overload, arguments, keywords[, options])."""

import torch

CASES = []
_A = torch.ops.aten


def _r(*shape):
    return torch.randn(shape)


def _as_cpu(name):
    """For a lone [C] the meta kernels say [1] where the CPU gives a scalar."""
    return lambda *args: (
        [getattr(_A, name)(*args)]
        if name == "multi_margin_loss"
        else list(getattr(_A, name)(*args))
    )


def _case(name, make):
    options = {"rtol": 1e-4, "atol": 1e-5}
    if "backward" not in name:
        options["wanted"] = _as_cpu(name.removeprefix("aten::"))
    CASES.append((name, make, {}, options))


def _labels(*shape):
    t = torch.stack(
        [torch.randperm(shape[-1]) for _ in range(shape[0] if len(shape) > 1 else 1)]
    ).view(shape)
    t[..., shape[-1] // 2] = -1
    return t


for _k in (0, 1, 2):
    for _p in (1, 2):
        for _w in (False, True):
            _case(
                "aten::multi_margin_loss",
                lambda k=_k, p=_p, w=_w: (
                    _r(3, 5),
                    torch.randint(0, 5, (3,)),
                    p,
                    0.5,
                    torch.rand(5) if w else None,
                    k,
                ),
            )
            _case(
                "aten::multi_margin_loss_backward",
                lambda k=_k, p=_p, w=_w: (
                    _r(3) if k == 0 else _r(),
                    _r(3, 5),
                    torch.randint(0, 5, (3,)),
                    p,
                    0.5,
                    torch.rand(5) if w else None,
                    k,
                ),
            )
    _case("aten::multi_margin_loss", lambda k=_k: (_r(5), torch.tensor(2), 1, 1.0, None, k))
    _case("aten::multilabel_margin_loss_forward", lambda k=_k: (_r(3, 6), _labels(3, 6), k))
    _case("aten::multilabel_margin_loss_forward", lambda k=_k: (_r(6), _labels(6), k))

    def _back(k, *shape):
        x, t = _r(*shape), _labels(*shape)
        out, is_target = _A.multilabel_margin_loss_forward(x, t, k)
        return torch.randn_like(out), x, t, k, is_target

    _case("aten::multilabel_margin_loss_backward", lambda k=_k: _back(k, 3, 6))
    _case("aten::multilabel_margin_loss_backward", lambda k=_k: _back(k, 6))
