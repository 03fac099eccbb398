"""Cases of whole LSTM layers. cuDNN's overloads have no CPU kernel: a plain loop over the steps says what is right.

The reserve holds, for each direction, i, f, g, o and the cell and the hidden state before the step, of all steps."""

import torch


def layer(x, weights, hx, cx, reverse):
    """One direction: output, last h, last c, reserve."""
    w_ih, w_hh, *biases = weights
    h, c, outputs, kept = hx, cx, [None] * len(x), [None] * len(x)
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        i, f, g, o = (x[t] @ w_ih.t() + h @ w_hh.t() + sum(biases)).chunk(4, -1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        kept[t] = torch.stack([i, f, g, o, c, h])
        c = f * c + i * g
        h = outputs[t] = o * c.tanh()
    return torch.stack(outputs), h, c, torch.stack(kept, 1)


def network(x, weights, stride, hx, cx, train=True):
    parts = [
        layer(x, weights[d * stride : (d + 1) * stride], hx[d], cx[d], d == 1)
        for d in range(len(hx))
    ]
    y, h, c, reserve = zip(*parts, strict=True)
    reserve = torch.stack(reserve) if train else None
    return [torch.cat(y, -1), torch.stack(h), torch.stack(c), reserve, None]


def forward(x, weights, stride, buf, hx, cx, mode, h, p, n, first, drop, train, both, sizes, state):
    return network(x, weights, stride, hx, cx, train)


def backward(x, weights, stride, buf, hx, cx, y, grad_y, grad_h, grad_c, *rest):
    mask, leaves = rest[-1], [x, hx, cx, *weights]
    leaves = [t.detach().clone().requires_grad_() for t in leaves]
    results = network(leaves[0], leaves[3:], stride, *leaves[1:3])[:3]
    total = sum(
        (r * g).sum()
        for r, g in zip(results, (grad_y, grad_h, grad_c), strict=True)
        if g is not None
    )
    grads = list(torch.autograd.grad(total, leaves))
    return [
        grads[0] if mask[0] else None,
        *grads[1:3],
        *(grads[3:] if mask[3] else [None] * len(weights)),
    ]


def arguments(directions, biased, dtype=torch.float32, steps=5, rows=3, inputs=4, hidden=6):
    def n(*dims):
        return torch.randn(dims).to(dtype)

    weights = []
    for _ in range(directions):
        weights += [n(4 * hidden, inputs), n(4 * hidden, hidden)]
        weights += [n(4 * hidden), n(4 * hidden)] if biased else []
    states = n(directions, rows, hidden), n(directions, rows, hidden)
    return n(steps, rows, inputs), weights, 4 if biased else 2, states


def make_forward(directions, biased, train, **kw):
    x, weights, stride, (hx, cx) = arguments(directions, biased, **kw)
    return (
        x,
        weights,
        stride,
        None,
        hx,
        cx,
        2,
        6,
        0,
        1,
        False,
        0.0,
        train,
        directions == 2,
        [],
        None,
    )


def make_backward(directions, biased, some, mask, **kw):
    x, weights, stride, (hx, cx) = arguments(directions, biased, **kw)
    y, h, c, reserve, _ = network(x, weights, stride, hx, cx)
    grads = [torch.randn_like(t) if keep else None for t, keep in zip((y, h, c), some, strict=True)]
    return (
        x,
        weights,
        stride,
        torch.empty(0),
        hx,
        cx,
        y,
        *grads,
        2,
        6,
        0,
        1,
        False,
        0.0,
        True,
        directions == 2,
        [],
        None,
        reserve,
        mask,
    )


ALL = [True] * 4
LOOSE = {"rtol": 5e-5, "atol": 5e-5}
CASES = []
for directions in (1, 2):
    for biased in (False, True):
        for train in (False, True):
            make = lambda d=directions, b=biased, t=train: make_forward(d, b, t)
            CASES.append(("aten::_cudnn_rnn", make, {}, {"expect": forward, **LOOSE}))
        for some, mask in (
            ((True, True, True), ALL),
            ((True, False, False), ALL),
            ((False, True, True), [False, True, True, False]),
        ):
            make = lambda d=directions, b=biased, s=some, m=mask: make_backward(d, b, s, m)
            CASES.append(("aten::_cudnn_rnn_backward", make, {}, {"expect": backward, **LOOSE}))
WIDE = {"rtol": 1e-9, "atol": 1e-9}
CASES += [
    (
        "aten::_cudnn_rnn",
        lambda: make_forward(2, True, True, dtype=torch.float64),
        {},
        {"expect": forward, **WIDE},
    ),
    (
        "aten::_cudnn_rnn_backward",
        lambda: make_backward(2, True, (True,) * 3, ALL, dtype=torch.float64),
        {},
        {"expect": backward, **WIDE},
    ),
    (
        "aten::_cudnn_rnn",
        lambda: make_forward(1, True, False, steps=1),
        {},
        {"expect": forward, **LOOSE},
    ),
]
