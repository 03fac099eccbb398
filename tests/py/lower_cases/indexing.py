"""Cases of the indexing rules: (overload, function that makes the arguments, keyword arguments)."""

import torch

f, i64, i32, b16, c64 = torch.float32, torch.int64, torch.int32, torch.bfloat16, torch.complex64


def r(*dims, dtype=f):
    if dtype is torch.bool:
        return torch.randn(dims) > 0
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(-9, 9, dims).to(dtype)
    return torch.randn(dims).to(dtype)


def ix(high, *dims, low=0, dtype=i64):
    return torch.randint(low, high, dims).to(dtype)


def nan(*dims):
    x = torch.randn(dims)
    x.view(-1)[::3] = float("nan")
    return x


def perm(n, dtype=i64):
    return torch.randperm(n).to(dtype)


def along(high, dims, axis):
    """An index without duplicates along `axis`, so that the result of scatter is defined."""
    return (
        torch.rand([high if i == axis else d for i, d in enumerate(dims)])
        .argsort(axis)
        .narrow(axis, 0, dims[axis])
    )


E = "aten::embedding"
D = "aten::embedding_dense_backward"
CASES = [
    (E, lambda: (r(10, 4), ix(10, 3, 5)), {}),
    (E, lambda: (r(10, 4, dtype=b16), ix(10, 3, dtype=i32), 2), {}),
    (E, lambda: (r(10, 4), ix(10, 0)), {}),
    (E, lambda: (r(10, 4), ix(10)), {}),
    (D, lambda: (r(3, 5, 4), ix(10, 3, 5), 10, -1, False), {}),
    (D, lambda: (r(3, 5, 4), ix(6, 3, 5), 6, 2, False), {}),
    (D, lambda: (r(3, 5, 4), ix(6, 3, 5, dtype=i32), 6, 2, True), {}),
    (D, lambda: (r(4), ix(6), 6, -1, False), {}),
    (D, lambda: (r(0, 4), ix(6, 0), 6, -1, False), {}),
    ("aten::gather", lambda: (r(4, 5), 1, ix(5, 4, 3)), {}),
    ("aten::gather", lambda: (r(4, 5, 6), -3, ix(4, 2, 3, 6)), {}),
    ("aten::gather", lambda: (r(4, dtype=torch.bool), 0, ix(4, 7)), {}),
    ("aten::gather", lambda: (r(), 0, ix(1)), {}),
    ("aten::gather", lambda: (r(), 0, ix(1, 3)), {}),
    ("aten::gather", lambda: (r(4), 0, ix(4)), {}),
    ("aten::gather", lambda: (r(4, 5), 0, ix(4, 0)), {}),
    ("aten::gather", lambda: (r(4, 5, dtype=c64), 0, ix(4, 2, 5)), {}),
    ("aten::index_add", lambda: (r(5, 3), 0, ix(5, 7), r(7, 3)), {}),
    ("aten::index_add", lambda: (r(5, 3, 2), 1, ix(3, 7, dtype=i32), r(5, 7, 2)), {"alpha": 2.5}),
    (
        "aten::index_add",
        lambda: (r(5, 3, dtype=i64), -1, ix(3, 4), r(5, 4, dtype=i64)),
        {"alpha": -3},
    ),
    ("aten::index_add", lambda: (r(5, 3, dtype=b16), 0, perm(5), r(5, 3, dtype=b16)), {}),
    ("aten::index_add", lambda: (r(), 0, ix(1, 1), r()), {}),
    ("aten::index_add", lambda: (r(5), 0, ix(5), r(1)), {}),
    ("aten::index_add", lambda: (r(5, 3), 0, ix(5, 0), r(0, 3)), {}),
    (
        "aten::index_add",
        lambda: (r(5, 3, dtype=torch.bool), 0, ix(5, 4), r(4, 3, dtype=torch.bool)),
        {},
    ),
    ("aten::index_copy", lambda: (r(5, 3), 0, perm(5)[:3], r(3, 3)), {}),
    ("aten::index_copy", lambda: (r(5, 3, 2), 2, perm(2), r(5, 3, 2)), {}),
    ("aten::index_copy", lambda: (r(), 0, ix(1, 1), r(1)), {}),
    ("aten::index_copy", lambda: (r(5), 0, ix(5), r()), {}),
    (
        "aten::index_copy",
        lambda: (r(5, 3, dtype=torch.bool), 1, perm(3), r(5, 3, dtype=torch.bool)),
        {},
    ),
    ("aten::index_fill.int_Scalar", lambda: (r(5, 3), 0, ix(5, 3, low=-5), 2.5), {}),
    ("aten::index_fill.int_Scalar", lambda: (r(5, 3, dtype=i64), 1, ix(3, 2), 7), {}),
    ("aten::index_fill.int_Scalar", lambda: (r(), 0, ix(1, 1), 7), {}),
    ("aten::index_fill.int_Scalar", lambda: (r(5, 3), 1, ix(3, 0), 7), {}),
    ("aten::index_fill.int_Tensor", lambda: (r(5, 3), 1, ix(3), torch.tensor(3.0)), {}),
    *[
        (
            "aten::index_reduce",
            lambda m=m, s=s, t=t: (r(5, 3, dtype=t), 0, ix(4, 7), r(7, 3, dtype=t), m),
            {"include_self": s},
        )
        for m in ("prod", "mean", "amax", "amin")
        for s in (True, False)
        for t in (f, i64)
    ],
    ("aten::index_reduce", lambda: (r(5, 3), 1, ix(3, 7), nan(5, 7), "amax"), {}),
    ("aten::index_select", lambda: (r(5, 3), 0, ix(5, 7)), {}),
    ("aten::index_select", lambda: (r(5, 3, 2), -2, ix(3, 7, dtype=i32)), {}),
    ("aten::index_select", lambda: (r(5, 3), 1, ix(3)), {}),
    ("aten::index_select", lambda: (r(), 0, ix(1, 1)), {}),
    ("aten::index_select", lambda: (r(5, 3, dtype=torch.bool), 1, ix(3, 0)), {}),
    ("aten::index_select", lambda: (r(5, 0), 0, ix(5, 2)), {}),
    ("aten::put", lambda: (r(3, 4), perm(12)[:5], r(5)), {}),
    ("aten::put", lambda: (r(3, 4), ix(12, 2, 3, low=-12), r(2, 3), True), {}),
    ("aten::put", lambda: (r(3, 4), ix(12, 0), r(0), True), {}),
    ("aten::put", lambda: (r(), ix(1), r(), False), {}),
    ("aten::take", lambda: (r(3, 4), ix(12, 2, 3, low=-12)), {}),
    ("aten::take", lambda: (r(3, 4), ix(12)), {}),
    ("aten::take", lambda: (r(), ix(1, 3)), {}),
    ("aten::take", lambda: (r(3, 4, dtype=i64), ix(12, 0)), {}),
    ("aten::scatter.src", lambda: (r(4, 5), 1, along(5, (3, 2), 1), r(4, 5)), {}),
    ("aten::scatter.src", lambda: (r(4, 5, 6), 0, along(4, (4, 5, 6), 0), r(4, 5, 6)), {}),
    (
        "aten::scatter.src",
        lambda: (r(4, 5, dtype=torch.bool), -1, along(5, (4, 5), 1), r(4, 5, dtype=torch.bool)),
        {},
    ),
    ("aten::scatter.src", lambda: (r(4, 5), 1, ix(5, 0, 5), r(4, 5)), {}),
    ("aten::scatter.src", lambda: (r(), 0, ix(1), r()), {}),
    ("aten::scatter.value", lambda: (r(4, 5), 1, ix(5, 4, 3), 2.5), {}),
    ("aten::scatter.value", lambda: (r(4, 5, dtype=i64), 0, ix(4, 4, 3), 2), {}),
    ("aten::scatter.value", lambda: (r(4, dtype=b16), 0, ix(4), 2), {}),
    ("aten::scatter.reduce", lambda: (r(4, 5), 0, ix(4, 3, 5), r(3, 5)), {"reduce": "add"}),
    ("aten::scatter.reduce", lambda: (r(4, 5), 0, ix(4, 3, 5), r(3, 5)), {"reduce": "multiply"}),
    ("aten::scatter.value_reduce", lambda: (r(4, 5), 0, ix(4, 3, 5), 2.0), {"reduce": "add"}),
    ("aten::scatter.value_reduce", lambda: (r(4, 5), 0, ix(4, 3, 5), 2), {"reduce": "multiply"}),
    ("aten::scatter_add", lambda: (r(4, 5), 1, ix(5, 4, 9), r(4, 9)), {}),
    ("aten::scatter_add", lambda: (r(4, 5, dtype=i64), 0, ix(4, 4, 5), r(6, 7, dtype=i64)), {}),
    ("aten::scatter_add", lambda: (r(4, 5, dtype=b16), 0, ix(4, 4, 5), r(6, 7, dtype=b16)), {}),
    ("aten::scatter_add", lambda: (r(4, 5, dtype=c64), 0, ix(4, 4, 5), r(6, 7, dtype=c64)), {}),
    ("aten::scatter_add", lambda: (r(), 0, ix(1), r()), {}),
    *[
        (
            "aten::scatter_reduce.two",
            lambda m=m, s=s, t=t: (r(4, 5, dtype=t), 1, ix(4, 4, 7), r(4, 8, dtype=t), m),
            {"include_self": s},
        )
        for m in ("sum", "prod", "mean", "amax", "amin")
        for s in (True, False)
        for t in (f, i64, b16)
    ],
    ("aten::scatter_reduce.two", lambda: (r(4, 5), 1, ix(4, 4, 7), nan(4, 7), "amin"), {}),
    (
        "aten::scatter_reduce.two",
        lambda: (r(4, 5, dtype=torch.bool), 1, ix(4, 4, 7), r(4, 7, dtype=torch.bool), "sum"),
        {},
    ),
    (
        "aten::scatter_reduce.two",
        lambda: (r(4, 5, dtype=torch.bool), 1, ix(4, 4, 7), r(4, 7, dtype=torch.bool), "amin"),
        {},
    ),
]
