"""Cases of the optimizer rules: (overload, arguments, keyword arguments, options).

The expected values come from the in-place form: what it leaves in the lists it writes."""

import itertools

import torch

CASES = []


def _written(name, overload, written):
    def expect(*args, **kwargs):
        getattr(getattr(torch.ops.aten, name + "_"), overload)(*args, **kwargs)
        return [args[i] for i in written]

    return expect


def add(overload, make, written, options=None, **kwargs):
    name, _, tail = overload.partition(".")
    expect = _written(name, tail or "default", written)
    options = {"rtol": 2e-5, "atol": 2e-6, **(options or {})}
    options.update(expect=expect, wanted=lambda *a, **k: [a[i] for i in written])
    CASES.append(("aten::" + overload, make, kwargs, options))


def tensors(dtype=torch.float32, positive=False):
    pair = [torch.randn(3, 4), torch.randn(5)]
    return [(x.abs() if positive else x).to(dtype) for x in pair]


def steps(n):
    return [torch.tensor(float(n)), torch.tensor(float(n))]


def number(value, overload):
    return torch.tensor(value) if overload.endswith("tensor_lr") else value


BFLOAT = {"rtol": 1.6e-2, "atol": 1e-2}
for overload in ("_fused_adam", "_fused_adamw", "_fused_adam.tensor_lr", "_fused_adamw.tensor_lr"):
    lr = number(1e-2, overload)
    for amsgrad, maximize, decay in itertools.product((False, True), (False, True), (0.0, 0.1)):
        add(
            overload,
            lambda a=amsgrad: (
                tensors(),
                tensors(),
                tensors(),
                tensors(positive=True),
                tensors(positive=True) if a else [],
                steps(3),
            ),
            (0, 1, 2, 3, 4),
            lr=lr,
            beta1=0.9,
            beta2=0.999,
            weight_decay=decay,
            eps=1e-8,
            amsgrad=amsgrad,
            maximize=maximize,
        )
    for step in (1, 1000):
        add(
            overload,
            lambda n=step: (tensors(), tensors(), tensors(), tensors(positive=True), [], steps(n)),
            (0, 1, 2, 3, 4),
            lr=lr,
            beta1=0.4,
            beta2=0.999,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )
    for found in (0.0, 1.0):
        add(
            overload,
            lambda: (tensors(), tensors(), tensors(), tensors(positive=True), [], steps(3)),
            (0, 1, 2, 3, 4),
            lr=lr,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.1,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
            grad_scale=torch.tensor(8.0),
            found_inf=torch.tensor(found),
        )
    add(
        overload,
        lambda: (
            tensors(torch.float64),
            tensors(torch.float64),
            tensors(torch.float64),
            tensors(torch.float64, True),
            [],
            steps(3),
        ),
        (0, 1, 2, 3, 4),
        {"rtol": 1e-7},
        lr=lr,
        beta1=0.9,
        beta2=0.999,
        weight_decay=0.1,
        eps=1e-8,
        amsgrad=False,
        maximize=False,
    )
    add(
        overload,
        lambda: (
            tensors(torch.bfloat16),
            tensors(torch.bfloat16),
            tensors(torch.bfloat16),
            tensors(torch.bfloat16, True),
            [],
            steps(3),
        ),
        (0, 1, 2, 3, 4),
        BFLOAT,
        lr=lr,
        beta1=0.9,
        beta2=0.999,
        weight_decay=0.1,
        eps=1e-8,
        amsgrad=False,
        maximize=False,
    )

for overload in ("_fused_sgd", "_fused_sgd.tensor_lr"):
    lr = number(1e-2, overload)
    for momentum, nesterov, first, maximize in itertools.product(
        (0.0, 0.9), (False, True), (False, True), (False, True)
    ):
        add(
            overload,
            lambda m=momentum: (tensors(), tensors(), tensors() if m else []),
            (0, 1, 2),
            weight_decay=0.1,
            momentum=momentum,
            lr=lr,
            dampening=0.2,
            nesterov=nesterov,
            maximize=maximize,
            is_first_step=first,
        )
    for found in (0.0, 1.0):
        add(
            overload,
            lambda: (tensors(), tensors(), tensors()),
            (0, 1, 2),
            weight_decay=0.0,
            momentum=0.9,
            lr=lr,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
            grad_scale=torch.tensor(8.0),
            found_inf=torch.tensor(found),
        )

for overload in ("_fused_adagrad", "_fused_adagrad.tensor_lr"):
    lr = number(1e-2, overload)
    written = (0, 1, 2) if overload.endswith("lr") else (0, 1, 2, 3)
    for maximize in (False, True):
        add(
            overload,
            lambda: (tensors(), tensors(), tensors(positive=True), steps(4)),
            written,
            lr=lr,
            lr_decay=0.1,
            weight_decay=0.1,
            eps=1e-10,
            maximize=maximize,
        )


def add_amp(overload, make):
    CASES.append(("aten::" + overload, make, {}, {}))


for extra in (1.0, float("inf"), float("nan")):
    add_amp(
        "_amp_foreach_non_finite_check_and_unscale",
        lambda e=extra: (
            [torch.randn(3, 2), torch.tensor([1.0, e]), torch.tensor(2.0)],
            torch.zeros(1),
            torch.full((1,), 0.125),
        ),
    )
for found, tracker in ((0.0, 3), (0.0, 9), (1.0, 5)):
    add_amp(
        "_amp_update_scale",
        lambda f=found, t=tracker: (
            torch.full((1,), 1024.0),
            torch.full((1,), t, dtype=torch.int32),
            torch.full((1,), f),
            2.0,
            0.5,
            10,
        ),
    )
add_amp(
    "_amp_update_scale",
    lambda: (
        torch.full((1,), 3e38),
        torch.full((1,), 9, dtype=torch.int32),
        torch.zeros(1),
        2.0,
        0.5,
        10,
    ),
)
