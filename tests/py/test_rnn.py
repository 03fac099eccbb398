"""nn.LSTM: a layer is one program; results and gradients are the CPU's."""

import copy
import itertools

import pytest
import torch
from torch import nn


def run(lstm, x, states, device):
    """Return results and gradients on ``device``, as CPU tensors."""
    lstm = copy.deepcopy(lstm).to(device)
    x = x.to(device).requires_grad_()
    states = tuple(s.to(device).requires_grad_() for s in states) if states else None
    y, (h, c) = lstm(x, states)
    (y.square().sum() + h.square().sum() + (c * h.mean()).sum()).backward()
    found = [y, h, c, x.grad, *(p.grad for p in lstm.parameters()), *(s.grad for s in states or ())]
    return [t.detach().cpu() for t in found], y.stride()


def same(lstm, batch_first=False, with_state=True, tolerance=1e-5):
    """Compare both devices."""
    directions = 2 if lstm.bidirectional else 1
    dtype = next(lstm.parameters()).dtype
    x = torch.randn((3, 5, 7) if batch_first else (5, 3, 7), dtype=dtype)
    hidden = lstm.proj_size or lstm.hidden_size
    rows = directions * lstm.num_layers
    states = (torch.randn(rows, 3, hidden), torch.randn(rows, 3, lstm.hidden_size))
    states = tuple(s.to(dtype) for s in states) if with_state else None
    cpu, cpu_stride = run(lstm, x.clone(), states and tuple(s.clone() for s in states), "cpu")
    tpu, tpu_stride = run(lstm, x.clone(), states and tuple(s.clone() for s in states), "tpu")
    assert cpu_stride == tpu_stride
    for a, b in zip(tpu, cpu, strict=True):
        torch.testing.assert_close(a, b, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize(
    ("layers", "bidirectional", "bias", "batch_first", "with_state"),
    [c for c in itertools.product((1, 2), *[(False, True)] * 4) if sum(c) % 2],
)
def test_as_on_cpu(layers, bidirectional, bias, batch_first, with_state):
    torch.manual_seed(1)
    lstm = nn.LSTM(7, 6, layers, bias=bias, batch_first=batch_first, bidirectional=bidirectional)
    same(lstm, batch_first, with_state)


def test_double(device):
    torch.manual_seed(1)
    same(nn.LSTM(7, 6, 2, dtype=torch.float64), tolerance=1e-12)


def test_projection_is_taken_apart(device):
    torch.manual_seed(1)
    same(nn.LSTM(7, 6, 2, proj_size=4))


def test_few_programs(device):
    lstm = nn.LSTM(8, 8).to(device)
    x = torch.randn(20, 2, 8, device=device)
    lstm(x)
    before = torch.tpu.compilation_stats()["executions"]
    lstm(x)
    assert torch.tpu.compilation_stats()["executions"] - before < 8


def test_second_derivative_without_the_layer(device):
    lstm = nn.LSTM(4, 4).to(device)
    x = torch.randn(3, 2, 4, device=device, requires_grad=True)
    with torch.backends.cudnn.flags(enabled=False):
        (grad,) = torch.autograd.grad(lstm(x)[0].square().sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(grad.square().sum(), x)
    assert second.isfinite().all()


def test_autocast(device):
    lstm = nn.LSTM(8, 8).to(device)
    x = torch.randn(4, 2, 8, device=device)
    with torch.autocast("tpu", torch.bfloat16):
        y = lstm(x)[0]
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y.float(), lstm(x)[0], atol=0.05, rtol=0.05)


def test_dropout_between_layers(device):
    lstm = nn.LSTM(8, 8, 2, dropout=0.5).to(device)
    x = torch.randn(4, 2, 8, device=device)
    assert not torch.equal(lstm(x)[0], lstm(x)[0])
    lstm.eval()
    assert torch.equal(lstm(x)[0], lstm(x)[0])


def test_packed_sequence(device):
    torch.manual_seed(1)
    lstm = nn.LSTM(7, 6)
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(5, 2, 7), [5, 3])
    torch.testing.assert_close(
        copy.deepcopy(lstm).to(device)(packed.to(device))[0].data.cpu(), lstm(packed)[0].data
    )
