"""Cases of interpolation and its gradients."""

import torch
from lower_cases.indexing import b16, r

IN = {1: [5], 2: [5, 6], 3: [3, 4, 5]}
OUT = {
    1: ([10], [3], [8], [5]),
    2: ([10, 12], [3, 4], [8, 11], [5, 6], [15, 2]),
    3: ([6, 8, 10], [2, 3, 4], [5, 9, 7]),
}
LOOSE = {"atol": 2e-5, "rtol": 2e-5}
NEAREST = [f"{n}{d}d" for n in ("upsample_nearest", "_upsample_nearest_exact") for d in (1, 2, 3)]
OTHERS = ["upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d"]
SMOOTH = ["_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"]


def calls():
    for name in NEAREST + OTHERS + SMOOTH:
        d = int(name.replace("_aa", "")[-2])
        for out in OUT[d]:
            for align in ([],) if name in NEAREST else ([False], [True]):
                yield name, d, out, align, [None] * d
        yield name, d, [int(1.7 * s) for s in IN[d]], [] if name in NEAREST else [False], [1.7] * d


CASES = []
for name, d, out, align, scales in calls():
    make = lambda d=d, o=out, a=align, s=scales: (r(2, 3, *IN[d]), o, *a, *s)
    back = lambda d=d, o=out, a=align, s=scales: (r(2, 3, *o), o, [2, 3, *IN[d]], *a, *s)
    CASES += [("aten::" + name, make, {}, LOOSE), (f"aten::{name}_backward", back, {}, LOOSE)]
CASES += [
    ("aten::_upsample_lanczos2d_aa", lambda: (r(2, 3, 9, 8), [5, 12], False), {}, LOOSE),
    (
        "aten::_upsample_lanczos2d_aa_backward",
        lambda: (r(2, 3, 5, 12), [5, 12], [2, 3, 9, 8], False),
        {},
        LOOSE,
    ),
    ("aten::upsample_bilinear2d", lambda: (r(2, 3, 5, 6, dtype=b16), [10, 9], False), {}),
    ("aten::upsample_nearest2d", lambda: (r(2, 3, 5, 6, dtype=b16), [10, 12]), {}),
    (
        "aten::upsample_nearest2d",
        lambda: (torch.randint(0, 255, (2, 3, 5, 6)).to(torch.uint8), [9, 7]),
        {},
    ),
    ("aten::upsample_nearest2d", lambda: (r(0, 3, 5, 6), [9, 7]), {}),
    (
        "aten::upsample_bilinear2d",
        lambda: (r(2, 3, 5, 6, dtype=torch.float64), [10, 9], False),
        {},
        {"rtol": 1e-5, "atol": 1e-6},
    ),
]
