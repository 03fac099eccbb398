"""Cases of convolutions: plain and transposed, 1 to 3 spatial dims, groups, dilation, and their gradients."""

import torch
from lower_cases.indexing import b16, f, r

one, none = [1, 1], [0, 0]
# batch, in, sizes, out, kernel, stride, padding, dilation, transposed, output padding, groups
SHAPES = [
    (2, 4, [8, 9], 6, [3, 3], one, one, one, False, none, 1),
    (2, 4, [8, 9], 6, [3, 2], [2, 1], [1, 0], one, False, none, 1),
    (2, 4, [9, 8], 6, [3, 3], [2, 3], [2, 1], [2, 1], False, none, 2),
    (2, 4, [7, 7], 4, [3, 3], one, one, one, False, none, 4),
    (2, 4, [7, 7], 8, [3, 3], [2, 2], one, one, False, none, 4),
    (2, 4, [7, 7], 5, [1, 1], one, none, one, False, none, 1),
    (2, 4, [7, 7], 5, [1, 1], one, one, one, False, none, 1),
    (2, 4, [7, 7], 5, [1, 1], [2, 2], none, one, False, none, 1),
    (2, 4, [5], 6, [3], [2], [1], [1], False, [0], 1),
    (2, 4, [5], 6, [3], [1], [2], [2], False, [0], 2),
    (1, 2, [5, 6, 4], 3, [2, 3, 2], [2, 1, 1], [1, 1, 0], [1, 1, 2], False, [0, 0, 0], 1),
    (2, 4, [5, 6], 6, [3, 3], [2, 2], one, one, True, one, 1),
    (2, 4, [5, 6], 6, [3, 2], [3, 1], none, [1, 2], True, [2, 1], 2),
    (2, 4, [5, 6], 6, [3, 3], one, [3, 0], one, True, none, 1),
    (2, 4, [5], 4, [4], [2], [1], [1], True, [0], 4),
    (1, 2, [3, 4, 3], 3, [2, 3, 2], [2, 1, 2], [1, 1, 0], [1, 1, 2], True, [1, 0, 1], 1),
    (0, 4, [8, 9], 6, [3, 3], one, one, one, False, none, 1),
]


def weight_dims(s):
    _, i, _, o, kernel, *_, transposed, _, groups = s
    return (i, o // groups, *kernel) if transposed else (o, i // groups, *kernel)


def forward(s, dtype=f, bias=True):
    return (
        r(s[0], s[1], *s[2], dtype=dtype),
        r(*weight_dims(s), dtype=dtype),
        r(s[3], dtype=dtype) if bias else None,
        *s[5:],
    )


def backward(s, dtype=f, mask=(True, True, True), sizes=True):
    x, w, b, *rest = forward(s, dtype)
    grad = torch.randn_like(torch.ops.aten.convolution(x, w, b, *rest))
    return (grad, x, w, *([[s[3]]] if sizes else []), *rest, list(mask))


def expect_backward(grad, x, w, *rest):
    return torch.ops.aten.convolution_backward(grad, x, w, [grad.shape[1]], *rest)


C, B = "aten::convolution", "aten::convolution_backward"
OWN = {"wanted": lambda *args: []}  # some results are undefined, or there is no meta kernel
TOL = {"atol": 1e-4, "rtol": 1e-4}
CASES = [
    *[(C, lambda s=s: forward(s), {}, TOL) for s in SHAPES],
    *[(B, lambda s=s: backward(s), {}, TOL) for s in SHAPES],
    (C, lambda: forward(SHAPES[0], b16, False), {}),
    (C, lambda: forward(SHAPES[0], torch.float64), {}),
    (B, lambda: backward(SHAPES[1], torch.float64), {}),
    (B, lambda: backward(SHAPES[1], mask=(True, False, True)), {}, {**TOL, **OWN}),
    (
        C + "_overrideable",
        lambda: forward(SHAPES[2]),
        {},
        {**TOL, **OWN, "expect": torch.ops.aten.convolution},
    ),
    (
        B + "_overrideable",
        lambda: backward(SHAPES[2], sizes=False),
        {},
        {**TOL, **OWN, "expect": expect_backward},
    ),
]
