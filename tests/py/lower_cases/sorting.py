"""Cases of sorts, searches, distinct values and positions."""

import torch
from lower_cases.indexing import b16, f, i64, ix, nan, r

B = torch.bool


def ties(*dims, dtype=f):
    return torch.randint(-3, 3, dims).to(dtype)


def apart(*dims, dtype=f):
    """No two equal: the indices of topk are then defined."""
    n = torch.Size(dims).numel()
    return (torch.randperm(n) - n // 2).to(dtype).reshape(dims)


def up(*dims, dtype=f):
    return r(*dims, dtype=dtype).sort(-1).values


inf = float("inf")
CASES = [
    ("aten::sort.stable", lambda: (ties(3, 20),), {"stable": True}),
    ("aten::sort.stable", lambda: (ties(3, 20),), {"stable": True, "descending": True}),
    ("aten::sort.stable", lambda: (nan(3, 7),), {"stable": True, "dim": 0}),
    ("aten::sort.stable", lambda: (nan(3, 7),), {"stable": True, "descending": True}),
    (
        "aten::sort.stable",
        lambda: (torch.tensor([0.0, -0.0, inf, -inf, 1.0, -0.0, 0.0]),),
        {"stable": True},
        {"signed_zero": True},
    ),
    ("aten::sort.stable", lambda: (ties(3, 20, dtype=i64),), {"stable": True, "dim": -2}),
    ("aten::sort.stable", lambda: (ties(3, 20, dtype=B),), {"stable": True}),
    (
        "aten::sort.stable",
        lambda: (ties(3, 20, dtype=torch.uint8).abs(),),
        {"stable": True, "descending": True},
    ),
    ("aten::sort.stable", lambda: (ties(3, 20, dtype=b16),), {"stable": True}),
    ("aten::sort.stable", lambda: (r(),), {"stable": True}),
    ("aten::sort.stable", lambda: (r(0, 3),), {"stable": True, "dim": 0}),
    ("aten::sort", lambda: (apart(3, 20), 0, True), {}),
    ("aten::topk", lambda: (apart(3, 20), 4), {}),
    ("aten::topk", lambda: (apart(3, 20), 2, 0, False), {}),
    ("aten::topk", lambda: (apart(3, 20, dtype=i64), 5, 1, False), {}),
    ("aten::topk", lambda: (apart(3, 20, dtype=b16), 5), {}),
    ("aten::topk", lambda: (apart(3, 20, dtype=torch.float64), 5), {}),
    ("aten::topk", lambda: (torch.tensor([1.0, float("nan"), -2.0, inf, -inf]), 3), {}),
    ("aten::topk", lambda: (torch.tensor([1.0, float("nan"), -2.0, inf, -inf]), 5, 0, False), {}),
    ("aten::topk", lambda: (torch.tensor([1.0, -float("nan"), -2.0, inf, -inf]), 5, 0, True), {}),
    ("aten::topk", lambda: (r(), 1), {}),
    ("aten::topk", lambda: (r(3, 4), 0), {}),
    *[
        (
            "aten::bucketize.Tensor",
            lambda n=n, k=k: (ties(3, 4), ties(n).sort().values),
            {"right": k},
        )
        for n in (0, 1, 5, 31, 100)
        for k in (False, True)
    ],
    ("aten::bucketize.Tensor", lambda: (nan(3, 4), up(50)), {"out_int32": True}),
    ("aten::bucketize.Tensor", lambda: (nan(3, 4), up(5)), {}),
    ("aten::bucketize.Scalar", lambda: (1.5, up(50)), {}),
    ("aten::searchsorted.Tensor", lambda: (up(3, 50), r(3, 4)), {}),
    ("aten::searchsorted.Tensor", lambda: (up(3, 5), r(3, 4)), {"side": "right"}),
    ("aten::searchsorted.Tensor", lambda: (up(50, dtype=i64), r(3, 4, dtype=i64)), {"right": True}),
    ("aten::searchsorted.Tensor", lambda: (up(0), r(3, 4)), {"right": True}),
    (
        "aten::searchsorted.Tensor",
        lambda: (torch.tensor([3.0, 1.0, 2.0]), r(4)),
        {"sorter": torch.tensor([1, 2, 0])},
    ),
    ("aten::searchsorted.Scalar", lambda: (up(50), 0.5), {}),
    ("aten::isin.Tensor_Tensor", lambda: (ties(5, 6), ties(2, 2)), {}),
    (
        "aten::isin.Tensor_Tensor",
        lambda: (r(5, 6, dtype=i64), ix(90, 100, low=4)),
        {"invert": True},
    ),
    ("aten::isin.Tensor_Tensor", lambda: (nan(5, 6), nan(100)), {}),
    ("aten::isin.Tensor_Tensor", lambda: (ties(5, 6), r(0)), {}),
    ("aten::isin.Tensor_Scalar", lambda: (ties(5, 6), 2), {}),
    ("aten::isin.Scalar_Tensor", lambda: (2, ties(5, 6)), {}),
    ("aten::nonzero", lambda: (ties(5, 6),), {}),
    ("aten::nonzero", lambda: (ties(30, 40),), {}),
    ("aten::nonzero", lambda: (ties(1000, dtype=B),), {}),
    ("aten::nonzero", lambda: (nan(3, 4, 5, 2),), {}),
    ("aten::nonzero", lambda: (torch.zeros(3, 4),), {}),
    ("aten::nonzero", lambda: (torch.tensor(3.0),), {}),
    ("aten::nonzero", lambda: (torch.tensor(0.0),), {}),
    ("aten::nonzero", lambda: (r(0, 3),), {}),
    ("aten::nonzero_static", lambda: (ties(5, 6),), {"size": 7}),
    ("aten::nonzero_static", lambda: (ties(5, 6),), {"size": 50, "fill_value": -5}),
    ("aten::nonzero_static", lambda: (ties(5, 6),), {"size": 0}),
    ("aten::nonzero_static", lambda: (ties(0, 6),), {"size": 3}),
    ("aten::repeat_interleave.Tensor", lambda: (torch.tensor([2, 0, 3, 1]),), {"output_size": 6}),
    (
        "aten::repeat_interleave.Tensor",
        lambda: (torch.full((1000,), 3, dtype=torch.int32),),
        {"output_size": 3000},
    ),
    ("aten::repeat_interleave.Tensor", lambda: (torch.tensor([0, 0]),), {"output_size": 0}),
    *[
        ("aten::_unique2", lambda t=t, n=n: (ties(*n, dtype=t), True, True, True), {})
        for t in (f, i64, b16, B)
        for n in ((40,), (3, 4), (50, 40))
    ],
    ("aten::_unique2", lambda: (nan(10), True, False, False), {}),
    ("aten::_unique2", lambda: (r(), True, True, True), {}),
    ("aten::_unique2", lambda: (r(0, 3), True, True, True), {}),
    ("aten::_unique", lambda: (ties(5, 6), True, True), {}),
    ("aten::_unique", lambda: (ties(5, 6), True, False), {}),
    ("aten::unique_consecutive", lambda: (ties(200), True, True), {}),
    ("aten::unique_consecutive", lambda: (ties(4, 5), True, False), {}),
    ("aten::unique_consecutive", lambda: (ties(4, 5),), {}),
    ("aten::unique_consecutive", lambda: (r(0), True, True), {}),
    ("aten::unique_consecutive", lambda: (ix(2, 20, 2), True, True, 0), {}),
    ("aten::unique_dim", lambda: (ix(2, 20, 3), 0, True, True, True), {}),
    ("aten::unique_dim", lambda: (ties(20, 2, 1), 0, True, True, True), {}),
    ("aten::unique_dim", lambda: (ties(20), 0, True, False, True), {}),
    ("aten::unique_dim_consecutive", lambda: (ix(2, 20, 2), 0, True, True), {}),
    *[
        ("aten::histc", lambda a=a: (r(200), *a), {})
        for a in ((), (10,), (10, -1, 1), (7, -0.5, 2))
    ],
    ("aten::histc", lambda: (torch.full((5,), 2.0), 4), {}),
    ("aten::histc", lambda: (r(0), 4), {}),
]
