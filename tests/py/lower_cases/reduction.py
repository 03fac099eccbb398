"""Cases for src/lower/rules/reduction.c: (overload, arguments, keywords[, options])."""

import math

import torch

_F = torch.float32


def _nan(x):
    x = x.clone()
    x.view(-1)[::7] = math.nan
    return x


def _rand(*shape, dtype=_F):
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=dtype)
    if dtype == torch.bool:
        return torch.rand(shape) > 0.3
    return torch.randint(-5 if dtype.is_signed else 0, 6, shape, dtype=dtype)


_ALL = [
    _F,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
]
CASES = []


def _case(name, make, options=None, **kwargs):
    CASES.append((name, make, kwargs) if options is None else (name, make, kwargs, options))


for _d in _ALL + [torch.complex64]:
    _case("aten::sum", lambda d=_d: (_rand(3, 5, 2, dtype=d),))
    _case("aten::sum.dim_IntList", lambda d=_d: (_rand(3, 5, 2, dtype=d), [1], True))
    _case("aten::prod", lambda d=_d: (_rand(3, 2, dtype=d),))
    _case("aten::prod.dim_int", lambda d=_d: (_rand(3, 4, dtype=d), -1))
    _case("aten::any", lambda d=_d: (_rand(3, 4, dtype=d),))
    _case("aten::all.dim", lambda d=_d: (_rand(3, 4, dtype=d), 0))
    _case("aten::count_nonzero", lambda d=_d: (_rand(3, 4, dtype=d), None))
    _case("aten::count_nonzero.dim_IntList", lambda d=_d: (_rand(3, 4, dtype=d), [1]))
    _case(
        "aten::equal",
        lambda d=_d: (_rand(3, 4, dtype=d), _rand(3, 4, dtype=d)),
        {"expect": lambda x, y: torch.tensor(torch.equal(x, y))},
    )
    if _d != torch.bool:
        _case("aten::trace", lambda d=_d: (_rand(3, 4, dtype=d),))
for _d in _ALL:
    _case("aten::amax", lambda d=_d: (_rand(3, 5, 2, dtype=d), [0, -1]))
    _case("aten::amin", lambda d=_d: (_rand(3, 5, 2, dtype=d), [], True))
    _case("aten::aminmax", lambda d=_d: (_rand(3, 5, 2, dtype=d),), dim=1)
    _case("aten::max", lambda d=_d: (_rand(3, 5, dtype=d),))
    _case("aten::min", lambda d=_d: (_rand(3, 5, dtype=d),))
    _case("aten::max.dim", lambda d=_d: (_rand(3, 5, 4, dtype=d), 1))
    _case("aten::min.dim", lambda d=_d: (_rand(3, 5, 4, dtype=d), -1, True))
    if _d != torch.bool:
        _case("aten::kthvalue", lambda d=_d: (torch.randperm(7).to(d), 3))
        _case("aten::argmax", lambda d=_d: (_rand(3, 5, 4, dtype=d),))
        _case("aten::argmin", lambda d=_d: (_rand(3, 5, 4, dtype=d), 1, True))
        _case("aten::median", lambda d=_d: (_rand(3, 5, dtype=d),))
        _case("aten::median.dim", lambda d=_d: (torch.randperm(8).to(d).view(2, 4), 1))
    _case("aten::mode", lambda d=_d: (_rand(3, 9, dtype=d), -1))
for _d in [_F, torch.float64, torch.bfloat16, torch.float16, torch.complex64]:
    _case("aten::mean", lambda d=_d: (_rand(3, 5, 2, dtype=d),))
    _case("aten::mean.dim", lambda d=_d: (_rand(3, 5, 2, dtype=d), [0, 2], True))
    _case("aten::var.correction", lambda d=_d: (_rand(3, 5, 2, dtype=d), [1]), correction=1)
    _case("aten::std.correction", lambda d=_d: (_rand(3, 5, 2, dtype=d), None), correction=0)
    if _d != torch.complex64:
        _case(
            "aten::var_mean.correction",
            lambda d=_d: (_rand(3, 5, 2, dtype=d), [0, 1]),
            keepdim=True,
        )
        _case(
            "aten::std_mean.correction", lambda d=_d: (_rand(3, 5, 2, dtype=d), [-1]), correction=2
        )
        _case("aten::logsumexp", lambda d=_d: (_rand(3, 5, 2, dtype=d), [1, 2]))
        _case("aten::nansum", lambda d=_d: (_nan(_rand(3, 5, 2, dtype=d)), [1]))
        _case("aten::nanmedian", lambda d=_d: (_nan(_rand(3, 5, dtype=d)),))
        _case("aten::nanmedian.dim", lambda d=_d: (_nan(torch.randperm(20).to(d).view(4, 5)), 1))
    for _p in (0, 1, 2, 3.5, math.inf, -math.inf):
        _case("aten::linalg_vector_norm", lambda d=_d, p=_p: (_rand(3, 5, 2, dtype=d), p, [1]))
    _case("aten::norm.Scalar", lambda d=_d: (_rand(3, 5, dtype=d), 2))
    _case("aten::norm.ScalarOpt_dim", lambda d=_d: (_rand(3, 5, dtype=d), 1, [0], True))
_case("aten::norm.ScalarOpt_dim_dtype", lambda: (_rand(3, 5), 2, [0], True), dtype=torch.float64)
_case("aten::norm.ScalarOpt_dtype", lambda: (_rand(3, 5), None), dtype=torch.float64)
_case("aten::linalg_vector_norm", lambda: (_rand(3, 5), 2, None, True), dtype=torch.float64)
_case("aten::linalg_vector_norm", lambda: (_rand(3, 5),))
_case("aten::sum", lambda: (_rand(4, 4),), dtype=torch.float64)
_case("aten::sum", lambda: (_rand(4, 4) * 9,), dtype=torch.int64)
_case("aten::sum", lambda: (_rand(),))
_case("aten::sum", lambda: (_rand(0, 3),))
# The terms cancel: this is 3e-8 of the sum of their magnitudes.
CASES.append(("aten::sum", lambda: (_rand(300, 301),), {}, {"atol": 2e-3}))
_case("aten::sum.dim_IntList", lambda: (_rand(0, 3), [0]))
_case("aten::sum.dim_IntList", lambda: (_rand(), [0]))
_case("aten::sum.dim_IntList", lambda: (_rand(2, 3), None, True))
_case("aten::sum.dim_IntList", lambda: (_rand(2, 3), [], False))
_case("aten::sum.dim_IntList", lambda: (_rand(2, 3, dtype=torch.bfloat16), [0]), dtype=_F)
_case("aten::mean", lambda: (_rand(0, 3),))
_case("aten::mean.dim", lambda: (_rand(2, 3, dtype=torch.int64), [0]), dtype=_F)
_case("aten::mean.dim", lambda: (_rand(2, 3), None))
_case("aten::prod", lambda: (_rand(0, 3),))
_case("aten::prod", lambda: (_rand(),))
_case("aten::amax", lambda: (_rand(),))
_case("aten::amax", lambda: (_nan(_rand(3, 9)), [1]))
_case("aten::amin", lambda: (_nan(_rand(3, 9)), [0]))
_case("aten::aminmax", lambda: (_nan(_rand(3, 9)),))
_case("aten::max", lambda: (_nan(_rand(3, 9)),))
_case("aten::max", lambda: (_rand(),))
_case("aten::max.dim", lambda: (_nan(_rand(3, 9)), 1))
_case("aten::max.dim", lambda: (torch.full((3, 4), -math.inf), 1))
_case("aten::max.dim", lambda: (_rand(), 0))
_case("aten::max.dim", lambda: (_rand(0, 3), 1))
_case("aten::min.dim", lambda: (_nan(_rand(3, 9)), 0, True))
_case("aten::argmax", lambda: (_rand(),))
_case("aten::argmax", lambda: (_rand(4, 3), None, True))
_case("aten::argmax", lambda: (_nan(_rand(4, 3)), 0))
_case("aten::argmin", lambda: (torch.tensor([3, 1, 1, 2]),))
_case("aten::all", lambda: (torch.ones(3, 4),))
_case("aten::all", lambda: (torch.ones(0),))
_case("aten::all", lambda: (torch.tensor([True, False]),))
_case("aten::all.dims", lambda: (_rand(3, 4, 2, dtype=torch.bool), [0, 2]))
_case("aten::all.dims", lambda: (_rand(3, 4), []))
_case("aten::any.dims", lambda: (_rand(3, 4), None))
_case("aten::any.dims", lambda: (_rand(3, 4, dtype=torch.bool), [1], True))
_case("aten::any.dim", lambda: (_rand(3, 4, dtype=torch.bool), 1, True))
_case("aten::any", lambda: (_rand(0),))
_case("aten::any", lambda: (torch.tensor([math.nan]),))
_case("aten::var.correction", lambda: (_rand(1, 3), [0]))
_case("aten::var.correction", lambda: (_rand(),))
_case("aten::var.correction", lambda: (_rand(64) + 1000, None), {"rtol": 1e-4})
_case("aten::std.correction", lambda: (_rand(5, 6), [0, 1]), correction=0.5)
_case(
    "aten::logsumexp",
    lambda: (torch.tensor([[math.inf, 1.0], [-math.inf, -math.inf], [math.nan, 0]]), [1], True),
)
_case("aten::logsumexp", lambda: (_rand(4, dtype=torch.int64), [0]))
_case("aten::logsumexp", lambda: (_rand(0, 2), [0]))
_case("aten::logsumexp", lambda: (_rand(), [0]))
_case("aten::nansum", lambda: (_rand(4, 2, dtype=torch.int32), None))
_case("aten::nansum", lambda: (torch.full((3,), math.nan),))
_case("aten::count_nonzero", lambda: (_rand(3, 4, dtype=torch.bool), 1))
_case("aten::median", lambda: (_nan(_rand(3, 5)),))
_case("aten::median", lambda: (_rand(0),))
_case("aten::median", lambda: (_rand(),))
_case("aten::median.dim", lambda: (_nan(_rand(2, 9)), 1, True))
_case("aten::median.dim", lambda: (_rand(), 0))
_case("aten::nanmedian", lambda: (torch.full((3,), math.nan),))
_case("aten::nanmedian.dim", lambda: (_nan(_rand(2, 8)), -1, True))
_case("aten::kthvalue", lambda: (_rand(4, 6), 2, 0, True))
_case("aten::kthvalue", lambda: (_rand(), 1))
_case("aten::mode", lambda: (torch.tensor([3, 1, 1, 2, 3]), 0))
_case("aten::mode", lambda: (torch.tensor(2.0), 0))
_case("aten::mode", lambda: (torch.tensor([[1.0, 2.0], [2.0, 2.0], [1.0, 3.0]]), 0, True))
_case(
    "aten::equal",
    lambda: (torch.ones(3), torch.ones(3)),
    {"expect": lambda x, y: torch.tensor(torch.equal(x, y))},
)
_case(
    "aten::equal",
    lambda: (torch.ones(3), torch.ones(4)),
    {"expect": lambda x, y: torch.tensor(torch.equal(x, y))},
)
for _d in (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int8, torch.bool):
    _case("aten::hash_tensor", lambda d=_d: ((torch.randn(3, 5, 2) * 9).to(d),))
    _case("aten::hash_tensor", lambda d=_d: ((torch.randn(3, 5, 2) * 9).to(d), [1]), keepdim=True)
_case("aten::hash_tensor", lambda: (torch.tensor(2.5),))
