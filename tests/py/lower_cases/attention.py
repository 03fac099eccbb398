"""Cases for src/lower/rules/attention.c: (overload, arguments, keywords[, options])."""

import math

import torch

CASES = []
_FORWARD = "aten::_scaled_dot_product_fused_attention_overrideable"
_BACKWARD = _FORWARD + "_backward"


def _scores(q, k, bias, causal, scale):
    k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
    s = q @ k.transpose(-1, -2) * (scale if scale is not None else 1 / math.sqrt(q.shape[-1]))
    if bias is not None:
        s = s.masked_fill(~bias, -math.inf) if bias.dtype == torch.bool else s + bias
    if causal:
        s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(), -math.inf)
    return s


def _forward(q, k, v, bias, causal, scale):
    s = _scores(q, k, bias, causal, scale)
    v = v.repeat_interleave(q.shape[-3] // v.shape[-3], -3)
    p = torch.nan_to_num(torch.softmax(s, -1), 0) if not s.isnan().any() else torch.softmax(s, -1)
    return p @ v, torch.logsumexp(s, -1)


def _check(dtype, *qkvb, causal=False, scale=None, backward=None):
    """The results against the formula in float64."""
    q, k, v = (x.double() for x in qkvb[:3])
    bias = qkvb[3]
    bias = bias if bias is None or bias.dtype == torch.bool else bias.double()
    tolerance = 2e-2 if dtype == torch.bfloat16 else 1e-4

    def verify(got):
        if backward is None:
            want = _forward(q, k, v, bias, causal, scale)
            got = got[:2]
        else:
            leaves = [x.clone().requires_grad_() for x in (q, k, v)] + (
                [bias.clone().requires_grad_()]
                if bias is not None and bias.dtype != torch.bool
                else []
            )
            out, _ = _forward(*leaves[:3], leaves[3] if len(leaves) > 3 else bias, causal, scale)
            want = torch.autograd.grad(out, leaves, backward.double())
            got = got[: len(want)]
        for i, (x, y) in enumerate(zip(got, want, strict=True)):
            y = y.reshape(x.shape)
            if not torch.allclose(x.double(), y, rtol=tolerance, atol=tolerance):
                return f"result {i}: off by {(x.double() - y).abs().max().item()}"
        return True

    return verify


def _wanted_forward(q, k, v, *rest, **_):
    lse = (q.shape[:-1]) if q.dim() == 4 else (1, *q.shape[:-1])
    return [
        q.new_empty(*q.shape[:-1], v.shape[-1]),
        torch.empty(lse),
        torch.empty((), dtype=torch.int64),
        torch.empty((), dtype=torch.int64),
    ]


def _add(shape_q, shape_k, bias=None, dtype=torch.float32, causal=False, scale=None, width=None):
    torch.manual_seed(len(CASES))
    q, k, g = torch.randn(shape_q).to(dtype), torch.randn(shape_k).to(dtype), None
    v = torch.randn(*shape_k[:-1], width or shape_k[-1]).to(dtype)
    b = bias() if bias is not None else None
    b = b if b is None or b.dtype == torch.bool else b.to(dtype)
    CASES.append(
        (
            _FORWARD,
            lambda: (q, k, v, b, 0.0, causal),
            {"scale": scale},
            {
                "expect": lambda *a, **_: [],
                "wanted": _wanted_forward,
                "verify": _check(dtype, q, k, v, b, causal=causal, scale=scale),
            },
        )
    )
    out, lse = _forward(
        q.double(),
        k.double(),
        v.double(),
        b if b is None or b.dtype == torch.bool else b.double(),
        causal,
        scale,
    )
    g = torch.randn(out.shape).to(dtype)
    zero, seed = torch.zeros(0, dtype=torch.int64), torch.zeros((), dtype=torch.int64)
    mask = [True, True, True, b is not None and b.dtype != torch.bool]
    wanted = [q, k, v] + ([b] if mask[3] else [])
    CASES.append(
        (
            _BACKWARD,
            lambda: (
                g,
                q,
                k,
                v,
                b,
                mask,
                out.to(dtype),
                lse.float(),
                zero,
                zero,
                1,
                1,
                0.0,
                causal,
                seed,
                seed,
            ),
            {"scale": scale},
            {
                "expect": lambda *a, **_: [],
                "wanted": lambda *a, **_: wanted,
                "verify": _check(dtype, q, k, v, b, causal=causal, scale=scale, backward=g),
            },
        )
    )


_add((2, 4, 6, 8), (2, 4, 7, 8))
_add((2, 4, 6, 8), (2, 4, 6, 8), causal=True)
_add((2, 4, 6, 8), (2, 2, 7, 8), scale=0.3)
_add((2, 4, 6, 8), (2, 1, 6, 8), causal=True)
_add((4, 6, 8), (4, 7, 8))
_add((2, 4, 6, 8), (2, 4, 7, 8), bias=lambda: torch.randn(6, 7))
_add((2, 4, 6, 8), (2, 2, 7, 8), bias=lambda: torch.randn(2, 1, 6, 7))
_add((2, 4, 6, 8), (2, 4, 7, 8), bias=lambda: torch.randn(2, 4, 1, 7), width=5)
_add((2, 4, 6, 8), (2, 4, 7, 8), bias=lambda: torch.arange(42).view(6, 7) % 3 != 0)
_add(
    (2, 4, 6, 8),
    (2, 4, 7, 8),
    bias=lambda: torch.ones(2, 4, 6, 7).tril().bool() & (torch.arange(6)[:, None] != 3),
)
_add((2, 4, 16, 8), (2, 2, 16, 8), causal=True, dtype=torch.bfloat16)
_add((2, 4, 16, 8), (2, 4, 16, 8), dtype=torch.float64)
