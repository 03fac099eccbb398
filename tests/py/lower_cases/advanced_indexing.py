"""Cases of x[i, j], masks and their writes."""

import torch
from lower_cases.indexing import b16, c64, i32, i64, ix, r

m = lambda *dims: torch.rand(dims) > 0.5
MASKED = {"wanted": lambda *args: []}  # no meta kernel takes a mask: the rule's own types count
I, P = "aten::index.Tensor", "aten::index_put"


def reads():
    yield lambda: (r(5, 4), [ix(5, 3)])
    yield lambda: (r(5, 4), [ix(5, 3, low=-5), ix(4, 3, low=-4)])
    yield lambda: (r(5, 4, 3), [None, ix(4, 2, 2)])
    yield lambda: (r(5, 4, 3), [ix(5, 2, 1), None, ix(3, 6)])
    yield lambda: (r(5, 4, 3), [None, ix(4, 6, dtype=i32), ix(3, 1, dtype=i32)])
    yield lambda: (r(2, 5, 4, 3, 2), [None, ix(5, 2), None, ix(3, 2)])
    yield lambda: (r(5, 4, dtype=torch.bool), [ix(5), ix(4)])
    yield lambda: (r(5, 4), [ix(5, 0)])
    yield lambda: (r(5, 0), [ix(5, 3)])
    yield lambda: (r(5, 4, dtype=c64), [None, ix(4, 2)])


def writes():
    for acc in (False, True):
        for t in (torch.float32, i64, b16):
            yield lambda a=acc, t=t: (
                r(5, 4, dtype=t),
                [torch.randperm(5)[:3]],
                r(3, 4, dtype=t),
                a,
            )
        yield lambda a=acc: (r(5, 4), [torch.randperm(5)[:3], None], r(4), a)
        yield lambda a=acc: (r(5, 4, 3), [None, torch.randperm(4)[:2], ix(3, 1)], r(2), a)
        yield lambda a=acc: (r(5, 4, 3), [torch.randperm(5)[:2], None, ix(3, 1)], r(2, 4), a)
        yield lambda a=acc: (r(5, 4, 3), [torch.randperm(5)[:2], None, ix(3, 1)], r(1), a)
        yield lambda a=acc: (r(5, 4), [ix(5, 0)], r(0, 4), a)
        yield lambda a=acc: (r(5, 4), [m(5, 4)], r(1), a)
        yield lambda a=acc: (r(5, 4), [m(5, 4)], r(), a)
        yield lambda a=acc: (r(5, 4), [m(5)], r(4), a)
        yield lambda a=acc: (r(5, 4), [torch.tensor([1, 0, 0, 1, 1]).bool()], r(3, 4), a)
        yield lambda a=acc: (r(5, 4), [None, torch.tensor([1, 0, 0, 1]).bool()], r(5, 2), a)
        yield lambda a=acc: (r(5, 4), [None, torch.tensor([1, 0, 0, 1]).bool()], r(2), a)
        yield lambda a=acc: (r(2, 2, 3), [torch.tensor([[1, 0], [0, 1]]).bool()], r(2, 3), a)
        yield lambda a=acc: (r(2, 2, 3), [torch.tensor([[1, 0], [0, 1]]).bool()], r(2, 1), a)
        yield lambda a=acc: (r(5, 4), [torch.zeros(5, dtype=torch.bool)], r(0, 4), a)
    yield lambda: (r(5, 4), [ix(5, 9)], r(9, 4), True)
    yield lambda: (r(5, 4), [ix(5, 9, low=-5), ix(4, 9)], r(9), True)
    yield lambda: (
        r(5, 4, dtype=torch.bool),
        [ix(5, 9, low=-5), ix(4, 9)],
        r(9, dtype=torch.bool),
        True,
    )


CASES = [
    *[(I, make, {}) for make in reads()],
    (I, lambda: (r(5, 4), [m(5)]), {}, MASKED),
    (I, lambda: (r(5, 4), [m(5, 4)]), {}, MASKED),
    (I, lambda: (r(5, 4), [torch.zeros(5, 4, dtype=torch.bool)]), {}, MASKED),
    ("aten::_unsafe_index.Tensor", lambda: (r(5, 4), [None, ix(4, 3)]), {}),
    *[(P, make, {}) for make in writes()],
    ("aten::_unsafe_index_put", lambda: (r(5, 4), [ix(5, 9)], r(9, 4), True), {}),
    ("aten::_index_put_impl", lambda: (r(5, 4), [ix(5, 9)], r(9, 4), True), {}),
    ("aten::masked_select", lambda: (r(5, 4), m(5, 4)), {}),
    ("aten::masked_select", lambda: (r(5, 1), m(4)), {}),
    ("aten::masked_select", lambda: (r(50, 40), m(50, 40)), {}),
    ("aten::masked_select", lambda: (r(), m()), {}),
    ("aten::masked_select", lambda: (r(0, 4, dtype=i64), m(0, 4)), {}),
    ("aten::masked_scatter", lambda: (r(5, 4), m(5, 4), r(20)), {}),
    ("aten::masked_scatter", lambda: (r(50, 40), m(40), r(50, 40)), {}),
    ("aten::masked_scatter", lambda: (r(5, 4), torch.zeros(5, 4).bool(), r(0)), {}),
    ("aten::masked_scatter_backward", lambda: (r(5, 4), m(5, 4), [5, 4]), {}),
    ("aten::masked_scatter_backward", lambda: (r(5, 4), m(4), [21]), {}),
]
