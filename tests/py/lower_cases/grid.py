"""Cases of grid_sample: mode 0 linear, 1 nearest, 2 cubic; padding 0 zeros, 1 border, 2 reflection."""

import torch
from lower_cases.indexing import r


def grid(*dims):
    return torch.rand(dims) * 3 - 1.5


G2, G3 = "aten::grid_sampler_2d", "aten::grid_sampler_3d"
LOOSE = {"atol": 5e-5, "rtol": 5e-5}
CASES = []
for align in (False, True):
    for pad in (0, 1, 2):
        for mode in (0, 1, 2):
            make = lambda m=mode, p=pad, a=align: (r(2, 3, 5, 6), grid(2, 4, 7, 2), m, p, a)
            back = lambda m=mode, p=pad, a=align: (
                r(2, 3, 4, 7),
                r(2, 3, 5, 6),
                grid(2, 4, 7, 2),
                m,
                p,
                a,
                [True, True],
            )
            CASES += [(G2, make, {}, LOOSE), (G2 + "_backward", back, {}, LOOSE)]
            if mode < 2:
                make = lambda m=mode, p=pad, a=align: (
                    r(2, 3, 4, 5, 6),
                    grid(2, 2, 4, 7, 3),
                    m,
                    p,
                    a,
                )
                back = lambda m=mode, p=pad, a=align: (
                    r(2, 3, 2, 4, 7),
                    r(2, 3, 4, 5, 6),
                    grid(2, 2, 4, 7, 3),
                    m,
                    p,
                    a,
                    [True, True],
                )
                CASES += [(G3, make, {}, LOOSE), (G3 + "_backward", back, {}, LOOSE)]
CASES += [(G2, lambda: (r(0, 3, 5, 6), grid(0, 4, 7, 2), 0, 0, False), {})]
