"""Cases for src/lower/rules/matmul.c: (overload, arguments, keywords[, options])."""

import math

import torch

CASES = []
_DTYPES = (
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.complex64,
)


def _case(name, make, options=None, **kwargs):
    CASES.append((name, make, kwargs) if options is None else (name, make, kwargs, options))


def _r(*shape, dtype=torch.float32):
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=dtype)
    return torch.randint(0, 6, shape, dtype=dtype)


def _loose(dtype):
    return {
        torch.bfloat16: {"rtol": 2e-2, "atol": 5e-2},
        torch.float16: {"rtol": 5e-3, "atol": 5e-3},
    }.get(
        dtype, {"rtol": 1e-4, "atol": 1e-5} if dtype.is_floating_point or dtype.is_complex else {}
    )


for _d in _DTYPES:
    _o = _loose(_d)
    _b, _a = (2, 3) if not (_d.is_floating_point or _d.is_complex) else (0.5, 1.5)
    _case("aten::mm", lambda d=_d: (_r(3, 5, dtype=d), _r(5, 4, dtype=d)), _o)
    _case("aten::bmm", lambda d=_d: (_r(2, 3, 5, dtype=d), _r(2, 5, 4, dtype=d)), _o)
    _case("aten::addmm", lambda d=_d: (_r(4, dtype=d), _r(3, 5, dtype=d), _r(5, 4, dtype=d)), _o)
    _case(
        "aten::addmm",
        lambda d=_d: (_r(3, 1, dtype=d), _r(3, 5, dtype=d), _r(5, 4, dtype=d)),
        _o,
        beta=_b,
        alpha=_a,
    )
    _case(
        "aten::baddbmm",
        lambda d=_d: (_r(2, 3, 4, dtype=d), _r(2, 3, 5, dtype=d), _r(2, 5, 4, dtype=d)),
        _o,
        beta=_b,
        alpha=_a,
    )
    _case(
        "aten::addbmm",
        lambda d=_d: (_r(3, 4, dtype=d), _r(2, 3, 5, dtype=d), _r(2, 5, 4, dtype=d)),
        _o,
        beta=_b,
    )
    _case(
        "aten::addmv",
        lambda d=_d: (_r(3, dtype=d), _r(3, 5, dtype=d), _r(5, dtype=d)),
        _o,
        alpha=_a,
    )
    _case(
        "aten::addr",
        lambda d=_d: (_r(3, 4, dtype=d), _r(3, dtype=d), _r(4, dtype=d)),
        _o,
        beta=_b,
        alpha=_a,
    )
    _case("aten::dot", lambda d=_d: (_r(6, dtype=d), _r(6, dtype=d)), _o)
    _case("aten::vdot", lambda d=_d: (_r(6, dtype=d), _r(6, dtype=d)), _o)
    _case("aten::mv", lambda d=_d: (_r(3, 5, dtype=d), _r(5, dtype=d)), _o)
_case("aten::addr", lambda: (torch.rand(2, 3) > 0.5, torch.rand(2) > 0.5, torch.rand(3) > 0.5))
_case("aten::mm", lambda: (_r(3, 0), _r(0, 4)))
_case("aten::mm", lambda: (_r(0, 3), _r(3, 4)))
_case("aten::bmm", lambda: (_r(0, 3, 2), _r(0, 2, 4)))
_case("aten::dot", lambda: (_r(0), _r(0)))
_case("aten::addmm", lambda: (_r(4), _r(3, 0), _r(0, 4)))
_case("aten::addmm", lambda: (torch.full((4,), math.nan), _r(3, 5), _r(5, 4)), beta=0)
_case("aten::addmm", lambda: (_r(4), _r(3, 5), _r(5, 4)), alpha=0.25)
_case("aten::mm", lambda: (_r(64, 128), _r(128, 96)), {"rtol": 1e-4, "atol": 1e-4})
_case(
    "aten::_int_mm",
    lambda: (
        torch.randint(-128, 127, (24, 16), dtype=torch.int8),
        torch.randint(-128, 127, (16, 8), dtype=torch.int8),
    ),
)
_case("aten::_addmm_activation", lambda: (_r(4), _r(3, 5), _r(5, 4)))
_case(
    "aten::_addmm_activation",
    lambda: (_r(4), _r(3, 5), _r(5, 4)),
    {"rtol": 1e-4, "atol": 1e-5},
    use_gelu=True,
    alpha=0.5,
)
_H = torch.bfloat16
_case(
    "aten::mm.dtype",
    lambda: (_r(3, 5, dtype=_H), _r(5, 4, dtype=_H), torch.float32),
    {
        "expect": lambda x, y, d: x.float() @ y.float(),
        "wanted": lambda x, y, d: [torch.empty(3, 4)],
    },
)
_case(
    "aten::bmm.dtype",
    lambda: (_r(2, 3, 5, dtype=_H), _r(2, 5, 4, dtype=_H), torch.float32),
    {
        "expect": lambda x, y, d: x.float() @ y.float(),
        "wanted": lambda x, y, d: [torch.empty(2, 3, 4)],
    },
)
_case(
    "aten::addmm.dtype",
    lambda: (_r(3, 4), _r(3, 5, dtype=_H), _r(5, 4, dtype=_H), torch.float32),
    {
        "expect": lambda z, x, y, d, beta: z * beta + x.float() @ y.float(),
        "wanted": lambda z, x, y, d, beta: [torch.empty(3, 4)],
    },
    beta=0.5,
)
_case(
    "aten::baddbmm.dtype",
    lambda: (_r(2, 3, 4), _r(2, 3, 5, dtype=_H), _r(2, 5, 4, dtype=_H), torch.float32),
    {
        "expect": lambda z, x, y, d: z + x.float() @ y.float(),
        "wanted": lambda z, x, y, d: [torch.empty(2, 3, 4)],
    },
)
