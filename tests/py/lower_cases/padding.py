"""Cases of padding and its gradients."""

import torch
from lower_cases.indexing import b16, c64, i64, r

SHAPES = {
    1: [((3, 5), [2, 3]), ((2, 3, 5), [0, 4]), ((2, 3, 5), [-1, 2])],
    2: [((3, 5, 6), [2, 3, 1, 0]), ((2, 3, 5, 6), [1, 1, 2, 4]), ((2, 3, 5, 6), [-1, 2, 0, -2])],
    3: [((3, 4, 5, 6), [2, 3, 1, 0, 1, 2]), ((2, 3, 4, 5, 6), [1, 1, 2, 4, 0, 3])],
}


def back(d, s, p, name):
    x = r(*s)
    return (torch.randn_like(getattr(torch.ops.aten, name)(x, p)), x, p)


CASES = [
    ("aten::constant_pad_nd", lambda: (r(3, 4), [1, 2, 0, 3], 2.5), {}),
    ("aten::constant_pad_nd", lambda: (r(3, 4, 5), [-1, 2, 1, -3]), {}),
    ("aten::constant_pad_nd", lambda: (r(3, 4, dtype=i64), [1, 2], 7), {}),
    ("aten::constant_pad_nd", lambda: (r(3, 4, dtype=torch.bool), [1, 2], True), {}),
    ("aten::constant_pad_nd", lambda: (r(0, 4), [1, 2, 1, 1], 3), {}),
    *[
        (f"aten::{kind}_pad{d}d", lambda s=s, p=p: (r(*s), p), {})
        for kind in ("reflection", "replication")
        for d in SHAPES
        for s, p in SHAPES[d]
    ],
    *[
        (
            f"aten::{kind}_pad{d}d_backward",
            lambda s=s, p=p, d=d, k=kind: back(d, s, p, f"{k}_pad{d}d"),
            {},
        )
        for kind in ("reflection", "replication")
        for d in SHAPES
        for s, p in SHAPES[d]
    ],
    ("aten::reflection_pad2d", lambda: (r(2, 3, 5, 6, dtype=b16), [1, 1, 2, 4]), {}),
    ("aten::replication_pad2d", lambda: (r(2, 3, 5, 6, dtype=c64), [1, 1, 2, 4]), {}),
]
