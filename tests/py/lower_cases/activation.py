"""Cases of the activation rules: (overload, arguments, keyword arguments, options)."""

import math

import torch

INF, NAN = math.inf, math.nan
VALUES = [
    -INF,
    -100.0,
    -20.5,
    -3.0,
    -2.5,
    -1.0,
    -0.5,
    -0.3,
    -0.0,
    0.0,
    1e-3,
    0.3,
    0.5,
    1.0,
    1.5,
    2.5,
    3.0,
    20.5,
    88.0,
    NAN,
]
CASES = []


def add(overload, make, options=None, **kwargs):
    CASES.append((overload, make, kwargs, options or {}))


def values(dtype=torch.float32, specials=True):
    x = torch.tensor(VALUES, dtype=dtype)
    return x if specials else x[1:-1]


def both(name, *numbers, options=None, **kwargs):
    """The forward rule on special numbers, an empty tensor, a scalar, bf16 and f64."""
    add("aten::" + name, lambda: (values(), *numbers), options, **kwargs)
    add("aten::" + name, lambda: (torch.randn(2, 0), *numbers), options, **kwargs)
    add("aten::" + name, lambda: (torch.randn(()), *numbers), options, **kwargs)
    add("aten::" + name, lambda: (values(torch.bfloat16), *numbers), options, **kwargs)
    add("aten::" + name, lambda: (values(torch.float64), *numbers), options, **kwargs)


def backward(name, *numbers, options=None, **kwargs):
    """grad, x, numbers."""
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        add(
            "aten::" + name,
            lambda d=dtype: (torch.randn(18).to(d), values(d, False), *numbers),
            options,
            **kwargs,
        )


for name in "relu sigmoid silu mish hardsigmoid hardswish".split():
    both(name)
add("aten::relu", lambda: (torch.arange(-3, 4),))
add("aten::sigmoid", lambda: (torch.arange(-3, 4),))
add("aten::sigmoid", lambda: (torch.randn(4, dtype=torch.complex64),), {"rtol": 1e-4})
for name in "silu_backward mish_backward hardsigmoid_backward hardswish_backward".split():
    backward(name)
for name in "sigmoid_backward tanh_backward".split():
    backward(name)
    add(
        "aten::" + name,
        lambda: (torch.randn(4, dtype=torch.complex64), torch.randn(4, dtype=torch.complex64)),
        {"rtol": 1e-4},
    )
for approximate in ("none", "tanh"):
    both("gelu", options={"atol": 1e-6, "rtol": 2e-5}, approximate=approximate)
    backward("gelu_backward", approximate=approximate)
both("softplus")
both("softplus", 2.0, 5.0)
backward("softplus_backward", 1, 20)
backward("softplus_backward", 2.0, 5.0)
both("elu")
both("elu", 1.5, 1.1, 0.7)
both("celu", 1.3)
for is_result in (False, True):
    add(
        "aten::elu_backward",
        lambda r=is_result: (
            torch.randn(18),
            1.5,
            1.1,
            0.7,
            r,
            values(specials=False).clamp(min=-1.6),
        ),
    )
both("leaky_relu")
both("leaky_relu", 0.3)
backward("leaky_relu_backward", 0.2, False)
both("hardtanh")
both("hardtanh", -0.4, 2)
add("aten::hardtanh", lambda: (torch.arange(-5, 5), -2, 3))
backward("hardtanh_backward", -1, 2.5)
both("hardshrink")
both("softshrink")
both("softshrink", 1.0)
backward("hardshrink_backward", 0.5)
backward("softshrink_backward", 0.5)
both("threshold", 0.3, -7)
add("aten::threshold", lambda: (torch.arange(-5, 5), 1, 9))
backward("threshold_backward", 0)
backward("threshold_backward", 0.3)
both("log_sigmoid_forward", options={"wanted": lambda x: torch.ops.aten.log_sigmoid_forward(x)})
add(
    "aten::log_sigmoid_backward",
    lambda: (torch.randn(18), values(specials=False), torch.exp(-values(specials=False).abs())),
)
for dim in (0, -1, 1):
    add("aten::glu", lambda d=dim: (torch.randn(4, 6, 2), d))
    add(
        "aten::glu_backward",
        lambda d=dim: (torch.randn(4, 6, 2).chunk(2, d)[0].clone(), torch.randn(4, 6, 2), d),
    )
    add(
        "aten::glu_jvp",
        lambda d=dim: (
            torch.randn(4, 6, 2).chunk(2, d)[0].clone(),
            torch.randn(4, 6, 2),
            torch.randn(4, 6, 2),
            d,
        ),
    )
add("aten::glu", lambda: (torch.randn(4, 6).bfloat16(), 1))
add("aten::_prelu_kernel", lambda: (torch.randn(2, 3, 4), torch.rand(1, 3, 1)))
add(
    "aten::_prelu_kernel_backward",
    lambda: (torch.randn(2, 3, 4), torch.randn(2, 3, 4), torch.rand(1, 3, 1)),
)
add("aten::_prelu_kernel_backward", lambda: (torch.randn(3), torch.randn(3), torch.rand(1)))
add(
    "aten::rrelu_with_noise_backward",
    lambda: (torch.randn(20), torch.randn(20), torch.rand(20), 0.1, 0.4, True, False),
)
add(
    "aten::rrelu_with_noise_backward",
    lambda: (torch.randn(20), torch.randn(20), torch.rand(20), 0.1, 0.4, False, False),
)
