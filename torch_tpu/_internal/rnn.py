"""Runs an LSTM a layer at a time: one program with a loop, instead of a dozen programs a step.

PyTorch's own ``lstm`` knows only the libraries of its own devices and else takes it apart into
cells. A whole layer is ``_cudnn_rnn``, which has a gradient and, here, a rule.
"""

import torch
from torch import Tensor

_LSTM = 2
_library = torch.library.Library("aten", "IMPL")


def _lstm(
    input: Tensor,
    hx: list[Tensor],
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    per_direction = 4 if has_biases else 2
    directions = 2 if bidirectional else 1
    if not _takes(input, hx, params, per_direction * directions * num_layers):
        return _apart(
            input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
        )
    if torch.is_autocast_enabled("tpu"):
        dtype = torch.get_autocast_dtype("tpu")
        input, hx, params = (
            input.to(dtype),
            [h.to(dtype) for h in hx],
            [p.to(dtype) for p in params],
        )
    x = input.transpose(0, 1) if batch_first else input
    last = []
    for i in range(num_layers):
        if i != 0 and dropout != 0 and train:
            x = torch.dropout(x, dropout, True)
        state = slice(i * directions, (i + 1) * directions)
        weights = params[i * directions * per_direction : (i + 1) * directions * per_direction]
        x, hy, cy, _, _ = torch._cudnn_rnn(
            x,
            weights,
            per_direction,
            None,
            hx[0][state],
            hx[1][state],
            _LSTM,
            hx[0].shape[-1],
            0,
            1,
            False,
            0.0,
            torch.is_grad_enabled(),
            bidirectional,
            [],
            None,
        )
        last.append((hy, cy))
    hy, cy = (
        last[0] if num_layers == 1 else (torch.cat(states) for states in zip(*last, strict=True))
    )
    return x.transpose(0, 1) if batch_first else x, hy, cy


def _takes(input: Tensor, hx: list[Tensor], params: list[Tensor], count: int) -> bool:
    """Whether the rule takes it: no projection, and not switched off as cuDNN's is."""
    return (
        torch.backends.cudnn.enabled
        and len(params) == count
        and len(hx) == 2
        and input.dim() == 3
        and input.numel() != 0
        and input.is_floating_point()
    )


def _apart(*args) -> tuple[Tensor, Tensor, Tensor]:
    return torch.ops.aten.lstm.input.decompose(*args)


def install() -> None:
    """Register it with PyTorch; with gradients and without."""
    for key in ("AutogradPrivateUse1", "PrivateUse1"):
        _library.impl("lstm.input", _lstm, key)
