"""Cases of embedding bags: mode 0 sum, 1 mean, 2 max. The last three results have the meta kernel's sizes, CPU's differ."""

import torch
from lower_cases.indexing import ix, r

A = torch.ops.aten


def expect(*args):
    """CPU's results, as the meta kernel sizes them; offset2bag and the sizes spelled out."""
    weight, indices, offsets, _, mode, _, _, last, padding = args
    y, _, _, top = A._embedding_bag(*args)
    count = len(offsets) - last
    bag = (
        torch.searchsorted(offsets[:count].contiguous(), torch.arange(len(indices)), right=True) - 1
    )
    sizes = torch.bincount(bag[indices != padding], minlength=len(offsets))
    return [y, bag, sizes, top if mode == 2 else torch.zeros(0, dtype=torch.int64)]


O = lambda: torch.tensor([0, 2, 2, 7])
ARGS = [
    lambda m=m, last=last, pad=pad, w=w: (
        r(10, 4),
        ix(10, 9),
        O(),
        False,
        m,
        False,
        torch.rand(9) if w else None,
        last,
        pad,
    )
    for m, w in ((0, False), (0, True), (1, False), (2, False))
    for last in (False,)
    for pad in (-1, 2)
]
ARGS += [lambda m=m: (r(10, 4), ix(10, 7), O(), False, m, False, None, True, -1) for m in (0, 1, 2)]


def back(make, dense, scale):
    args = make()
    y, bag, sizes, top = expect(*args)
    weight, indices, offsets, _, mode, _, psw, _, padding = args
    grad = torch.randn_like(y)
    if mode != 2:
        top = torch.zeros(len(y), dtype=torch.int64)
    sizes = sizes[: len(y)]
    if dense:
        return (grad, indices, bag, sizes, top, 10, scale, mode, psw, padding)
    return (grad, indices, offsets, bag, sizes, top, 10, scale, mode, False, psw, padding)


def weights(padding):
    return (
        r(4, 4),
        r(10, 4),
        (i := ix(10, 9)),
        O(),
        torch.searchsorted(O(), torch.arange(len(i)), right=True) - 1,
        0,
        padding,
    )


CASES = [
    *[
        (f"aten::{name}", m, {}, {"expect": expect})
        for name in ("_embedding_bag", "_embedding_bag_forward_only")
        for m in ARGS
    ],
    *[("aten::_embedding_bag_dense_backward", lambda m=m: back(m, True, False), {}) for m in ARGS],
    *[("aten::_embedding_bag_backward", lambda m=m: back(m, False, False), {}) for m in ARGS],
    # CPU divides by the count of another index here; embedding's own gradient does it right.
    (
        "aten::_embedding_bag_dense_backward",
        lambda: back(ARGS[0], True, True),
        {},
        {"expect": lambda g, i, bag, *_: A.embedding_dense_backward(g[bag], i, 10, -1, True)},
    ),
    *[
        ("aten::_embedding_bag_per_sample_weights_backward", lambda p=p: weights(p), {})
        for p in (-1, 2)
    ],
]
