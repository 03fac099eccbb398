"""Cases of the foreach rules: (overload, arguments, keyword arguments, options)."""

import torch

CASES = []


def add(overload, make, options=None, **kwargs):
    CASES.append(("aten::" + overload, make, kwargs, options or {}))


def lists(dtype=torch.float32):
    return [torch.randn(3, 2).to(dtype), torch.randn(()).to(dtype), torch.randn(0, 4).to(dtype)]


def positives(dtype=torch.float32):
    return [torch.rand(3, 2).to(dtype) * 0.9 + 0.05, torch.rand(()).to(dtype) * 0.9 + 0.05]


UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round
rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero max clone""".split()
for name in UNARY:
    add("_foreach_" + name, lambda: (positives(),))
    add("_foreach_" + name, lambda: (positives(torch.bfloat16),))
for name in "add sub mul div".split():
    add(f"_foreach_{name}.List", lambda: (lists(), lists()))
    add(f"_foreach_{name}.List", lambda: (lists(torch.bfloat16), lists(torch.bfloat16)))
    add(f"_foreach_{name}.Scalar", lambda: (lists(), 2.5))
    add(f"_foreach_{name}.Scalar", lambda: ([torch.arange(4)], 2))
    add(f"_foreach_{name}.ScalarList", lambda: (lists(), [2.5, 3, -1.0]))
    if name != "sub":
        add(f"_foreach_{name}.Tensor", lambda: (lists(), torch.tensor(1.5)))
for name in ("add", "sub"):
    add(f"_foreach_{name}.List", lambda: (lists(), lists()), alpha=-0.3)
add("_foreach_add.Tensor", lambda: (lists(), torch.tensor(1.5)), alpha=0.5)
for name in "clamp_max clamp_min maximum minimum pow".split():
    add(f"_foreach_{name}.List", lambda: (positives(), positives()))
    add(f"_foreach_{name}.Scalar", lambda: (positives(), 0.3))
    add(f"_foreach_{name}.ScalarList", lambda: (positives(), [0.5, 2]))
add("_foreach_pow.ScalarAndTensor", lambda: (2.5, lists()))
for name in "addcdiv addcmul".split():
    for dtype in (torch.float32, torch.bfloat16):
        add(
            f"_foreach_{name}.Scalar",
            lambda d=dtype: (positives(d), positives(d), positives(d), -0.1),
        )
    add(f"_foreach_{name}.Scalar", lambda: (positives(), positives(), positives()))
    add(f"_foreach_{name}.ScalarList", lambda: (positives(), positives(), positives(), [0.5, -2.0]))
    add(
        f"_foreach_{name}.Tensor",
        lambda: (positives(), positives(), positives(), torch.tensor([0.5, -2.0])),
    )
add("_foreach_lerp.List", lambda: (lists(), lists(), lists()))
add("_foreach_lerp.Scalar", lambda: (lists(), lists(), 0.1))
add("_foreach_lerp.ScalarList", lambda: (lists(), lists(), [0.1, 0.9, 0.5]))
add(
    "_foreach_mm",
    lambda: ([torch.randn(2, 3), torch.randn(1, 4)], [torch.randn(3, 5), torch.randn(4, 2)]),
)
for order in (2, 1, float("inf")):
    add("_foreach_norm.Scalar", lambda o=order: (positives(), o))
add("_foreach_norm.Scalar", lambda: (positives(torch.bfloat16), 2, torch.float32))
add("_foreach_powsum.Scalar", lambda: (positives(), 3))
add(
    "_foreach_copy",
    lambda: (lists(), [torch.randn(3, 2).double(), torch.ones(()).int(), torch.ones(0, 4)]),
)
