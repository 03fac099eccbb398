"""Cases of pooling, unpooling and windows as columns."""

import torch
from lower_cases.indexing import b16, i64, nan, r

A = torch.ops.aten


def neg_inf(*dims):
    return torch.full(dims, float("-inf"))


MAX2 = [  # input, kernel, stride, padding, dilation, ceil_mode
    lambda: (r(2, 3, 8, 9), [2, 2], [], 0, 1, False),
    lambda: (r(2, 3, 8, 9), [3, 3], [2, 2], [1, 1], 1, False),
    lambda: (r(2, 3, 8, 9), [3, 2], [2, 1], [1, 0], [2, 1], True),
    lambda: (r(3, 8, 9), [3], [2], [1], [1], True),
    lambda: (r(2, 3, 10, 11), [5, 4], [1, 2], [2, 2], 1, False),
    lambda: (r(2, 3, 8, 9, dtype=b16), [3, 3], [3, 3], [1, 1], 1, True),
    lambda: (r(2, 3, 8, 9, dtype=i64), [3, 3], [2, 2], [1, 1], 1, True),
    lambda: (nan(2, 3, 8, 9), [3, 3], [2, 2], [1, 1], 1, False),
    lambda: (neg_inf(1, 2, 5, 5), [3, 3], [2, 2], [1, 1], 1, False),
    lambda: (r(0, 3, 8, 9), [3, 3], [2, 2], [1, 1], 1, False),
]
MAX3 = [
    lambda: (r(2, 2, 5, 6, 7), [2, 2, 2], [], 0, 1, False),
    lambda: (r(2, 5, 6, 7), [3, 2, 3], [2, 1, 2], [1, 1, 0], [1, 2, 1], True),
]
AVG2 = [  # input, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
    lambda: (r(2, 3, 8, 9), [2, 2], [], 0, False, True, None),
    lambda: (r(2, 3, 8, 9), [3, 3], [2, 2], [1, 1], False, True, None),
    lambda: (r(2, 3, 8, 9), [3, 3], [2, 2], [1, 1], True, True, None),
    lambda: (r(2, 3, 8, 9), [3, 2], [2, 3], [1, 1], True, False, None),
    lambda: (r(3, 8, 9), [3, 2], [2, 3], [1, 1], True, False, 5),
    lambda: (r(2, 3, 8, 9, dtype=b16), [8, 9], [], 0, False, True, None),
    lambda: (r(2, 3, 40, 9), [30, 3], [3, 2], 0, False, True, None),
    lambda: (r(0, 3, 8, 9), [2, 2], [], 0, False, True, None),
]
AVG3 = [
    lambda: (r(2, 2, 5, 6, 7), [2, 2, 2], [], 0, False, True, None),
    lambda: (r(2, 5, 6, 7), [3, 2, 3], [2, 1, 2], [1, 1, 0], True, False, None),
]
ADAPTIVE2 = [
    lambda: (r(2, 3, 8, 9), [1, 1]),
    lambda: (r(2, 3, 8, 9), [4, 3]),
    lambda: (r(3, 8, 9), [5, 4]),
    lambda: (r(2, 3, 4, 5), [7, 11]),
    lambda: (r(2, 3, 8, 9), [0, 3]),
    lambda: (r(0, 3, 8, 9), [2, 3]),
]
ADAPTIVE3 = [lambda: (r(2, 3, 5, 6, 7), [2, 3, 4]), lambda: (r(3, 5, 6, 7), [1, 1, 1])]


def max_back(op, make):
    x, *rest = make()
    y, at = op(x, *rest)
    return (torch.randn_like(y), x, *([rest[0], rest[1] or rest[0], *rest[2:]]), at)


def avg_back(op, make):
    x, *rest = make()
    return (torch.randn_like(op(x, *rest)), x, rest[0], rest[1] or rest[0], *rest[2:])


def adaptive_back(op, make, indices):
    x, size = make()
    y = op(x, size)
    y, at = y if indices else (y, None)
    return (torch.randn_like(y), x, *([at] if indices else []))


def fractional_back(op, make):
    x, kernel, size, samples = make()
    y, at = op(x, kernel, size, samples)
    return (torch.randn_like(y), x, kernel, size, at)


def floats(makes):
    return [m for m in makes if m()[0].dtype.is_floating_point]


FRACTIONAL2 = [
    lambda: (r(2, 3, 9, 10), [2, 3], [4, 5], torch.rand(2, 3, 2)),
    lambda: (r(3, 9, 10), [2, 2], [8, 1], torch.rand(1, 3, 2)),
]
FRACTIONAL3 = [lambda: (r(2, 3, 9, 10, 8), [2, 3, 2], [4, 5, 3], torch.rand(2, 3, 3))]
COLUMNS = [
    lambda: (r(2, 3, 8, 9), [2, 3], [1, 1], [0, 0], [1, 1]),
    lambda: (r(3, 8, 9), [3, 2], [2, 1], [1, 2], [2, 3]),
    lambda: (r(2, 3, 8, 9, dtype=b16), [3, 3], [1, 1], [1, 1], [1, 1]),
]


def col(make):
    x, *rest = make()
    return (A.im2col(x, *rest), list(x.shape[-2:]), *rest)


def unpool(make, dims, *rest):
    y, at = (A.max_pool2d_with_indices if dims == 2 else A.max_pool3d_with_indices)(*make())
    return (y, at, list(make()[0].shape[-dims:]), *rest)


W2, W3 = "aten::max_pool2d_with_indices", "aten::max_pool3d_with_indices"
CASES = [
    *[(W2, m, {}) for m in MAX2],
    *[(W3, m, {}) for m in MAX3],
    *[
        (W2 + "_backward", lambda m=m: max_back(A.max_pool2d_with_indices, m), {})
        for m in floats(MAX2)
    ],
    *[(W3 + "_backward", lambda m=m: max_back(A.max_pool3d_with_indices, m), {}) for m in MAX3],
    *[("aten::avg_pool2d", m, {}) for m in AVG2],
    *[("aten::avg_pool3d", m, {}) for m in AVG3],
    *[("aten::avg_pool2d_backward", lambda m=m: avg_back(A.avg_pool2d, m), {}) for m in AVG2],
    *[("aten::avg_pool3d_backward", lambda m=m: avg_back(A.avg_pool3d, m), {}) for m in AVG3],
    *[("aten::_adaptive_avg_pool2d", m, {}) for m in ADAPTIVE2],
    *[("aten::_adaptive_avg_pool3d", m, {}) for m in ADAPTIVE3],
    *[
        (
            "aten::_adaptive_avg_pool2d_backward",
            lambda m=m: adaptive_back(A._adaptive_avg_pool2d, m, False),
            {},
        )
        for m in ADAPTIVE2[:-2]
    ],
    *[
        (
            "aten::_adaptive_avg_pool3d_backward",
            lambda m=m: adaptive_back(A._adaptive_avg_pool3d, m, False),
            {},
        )
        for m in ADAPTIVE3
    ],
    *[("aten::adaptive_max_pool2d", m, {}) for m in ADAPTIVE2],
    *[("aten::adaptive_max_pool3d", m, {}) for m in ADAPTIVE3],
    *[
        (
            "aten::adaptive_max_pool2d_backward",
            lambda m=m: adaptive_back(A.adaptive_max_pool2d, m, True),
            {},
        )
        for m in ADAPTIVE2[:-2]
    ],
    *[
        (
            "aten::adaptive_max_pool3d_backward",
            lambda m=m: adaptive_back(A.adaptive_max_pool3d, m, True),
            {},
        )
        for m in ADAPTIVE3
    ],
    *[("aten::fractional_max_pool2d", m, {}) for m in FRACTIONAL2],
    *[("aten::fractional_max_pool3d", m, {}) for m in FRACTIONAL3],
    *[
        (
            "aten::fractional_max_pool2d_backward",
            lambda m=m: fractional_back(A.fractional_max_pool2d, m),
            {},
        )
        for m in FRACTIONAL2
    ],
    *[
        (
            "aten::fractional_max_pool3d_backward",
            lambda m=m: fractional_back(A.fractional_max_pool3d, m),
            {},
        )
        for m in FRACTIONAL3
    ],
    *[("aten::im2col", m, {}) for m in COLUMNS],
    *[("aten::col2im", lambda m=m: col(m), {}) for m in COLUMNS],
    ("aten::max_unpool2d", lambda: unpool(MAX2[0], 2), {}),
    ("aten::max_unpool3d", lambda: unpool(MAX3[0], 3, [2, 2, 2], [0, 0, 0]), {}),
]
