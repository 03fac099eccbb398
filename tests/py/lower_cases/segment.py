"""Cases for src/lower/rules/segment.c: (overload, arguments, keywords[, options])."""

import math

import torch

CASES = []


def _data(*shape):
    x = torch.randn(shape)
    x.view(-1)[::5] = 0
    return x


def _add(reduce, data, axis, lengths, initial=None, by_offsets=False):
    spans = torch.tensor(lengths)
    if by_offsets:
        spans = torch.cat([torch.zeros_like(spans[..., :1]), spans.cumsum(-1)], -1)
    name = "offsets" if by_offsets else "lengths"
    kwargs = {name: spans, "axis": axis, "initial": initial}
    CASES.append(("aten::segment_reduce", lambda: (data, reduce), {**kwargs, "unsafe": True}, {}))
    output = torch.segment_reduce(data, reduce, unsafe=True, **kwargs)
    grad = torch.randn_like(output)
    options = {"rtol": 1e-4, "atol": 1e-5}
    CASES.append(
        ("aten::_segment_reduce_backward", lambda: (grad, output, data, reduce), kwargs, options)
    )


torch.manual_seed(1)
for _reduce in ("sum", "mean", "max", "min", "prod"):
    for _offsets in (False, True):
        _add(_reduce, _data(7), 0, [2, 0, 4, 1], 1.0, _offsets)
        _add(_reduce, _data(7, 3), 0, [3, 4], 0.5, _offsets)
        _add(_reduce, _data(2, 6, 3), 1, [[1, 2, 3], [4, 0, 2]], 2, _offsets)
    _add(_reduce, _data(7), 0, [2, 4, 1])
CASES.append(
    ("aten::segment_reduce", lambda: (_data(3), "mean"), {"lengths": torch.tensor([0, 3])}, {})
)
CASES.append(
    (
        "aten::segment_reduce",
        lambda: (torch.tensor([1.0, math.nan, 2.0]), "max"),
        {"lengths": torch.tensor([2, 1])},
        {},
    )
)
