"""What is made of other operators, against the CPU; attention's stands in test_layers.py."""

import itertools

import pytest
import torch
from torch import nn


def test_bincount(device):
    x = torch.tensor([1, 5, 2, 2, 5])
    weights = [None, torch.tensor([0.5, 1, 2, 3, 4]), torch.arange(5), torch.ones(5).double()]
    for w, least, dtype in itertools.product(
        weights, (0, 3, 9), (torch.int64, torch.int32, torch.uint8)
    ):
        want = torch.bincount(x.to(dtype), w, least)
        got = torch.bincount(x.to(dtype).to(device), None if w is None else w.to(device), least)
        assert got.dtype == want.dtype and got.tolist() == want.tolist()
    none = torch.empty(0, dtype=torch.int64, device=device)
    assert torch.bincount(none).tolist() == [] and torch.bincount(none, minlength=2).tolist() == [
        0,
        0,
    ]


@pytest.mark.parametrize("norm", [1.0, 2.0, float("inf")])
def test_embedding_with_a_largest_norm(device, norm):
    indices = torch.tensor([[1, 3], [3, 0]])
    results = []
    for place in ("cpu", device):
        torch.manual_seed(0)
        layer = nn.Embedding(5, 4, max_norm=1.0, norm_type=norm)
        with torch.no_grad():
            layer.weight[0] *= 0.01
        layer.to(place)
        layer(indices.to(place)).square().sum().backward()
        results.append((layer.weight.detach().cpu(), layer.weight.grad.cpu()))
    torch.testing.assert_close(results[1], results[0])


def test_repeat_interleave_finds_its_size(device):
    x, repeats = torch.arange(6.0).view(3, 2), torch.tensor([2, 0, 3])
    there = x.to(device).requires_grad_()
    got = there.repeat_interleave(repeats.to(device), 0)
    assert torch.equal(got.detach().cpu(), x.repeat_interleave(repeats, 0))
    got.sum().backward()
    assert there.grad.tolist() == [[2, 2], [0, 0], [3, 3]]
    for values in ([1, 2], [0, 0], []):
        for dtype in (torch.int32, torch.int64):
            r = torch.tensor(values, dtype=dtype)
            want, got = torch.repeat_interleave(r), torch.repeat_interleave(r.to(device))
            assert got.dtype == want.dtype and got.tolist() == want.tolist()
