"""Layers that go to operators of their own in some setting: without statistics, without gradients.

Each against the CPU.
"""

import copy
import itertools

import pytest
import torch
import torch.nn.functional as F
from torch import nn


def _assert_same_training(module, x, device):
    """Compare the output, the gradients and the statistics of one step."""
    ours = copy.deepcopy(module).to(device)
    inputs = [x.clone().requires_grad_(), x.to(device).requires_grad_()]
    outputs = [m(i) for m, i in zip((module, ours), inputs, strict=True)]
    weight = torch.randn_like(x)
    for out in outputs:
        (out * weight.to(out.device)).sum().backward()
    torch.testing.assert_close(outputs[1].cpu(), outputs[0])
    torch.testing.assert_close(inputs[1].grad.cpu(), inputs[0].grad, rtol=1e-4, atol=1e-5)
    for p, q in zip(module.parameters(), ours.parameters(), strict=True):
        torch.testing.assert_close(q.grad.cpu(), p.grad, rtol=1e-4, atol=1e-5)
    for p, q in zip(module.buffers(), ours.buffers(), strict=True):
        torch.testing.assert_close(q.cpu(), p)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    "kind, rank",
    [
        (nn.InstanceNorm1d, 1),
        (nn.InstanceNorm2d, 2),
        (nn.InstanceNorm3d, 3),
        (nn.BatchNorm1d, 1),
        (nn.BatchNorm2d, 2),
    ],
)
def test_norms_of_the_batch_alone(device, kind, rank, training):
    for affine, tracked in itertools.product([False, True], repeat=2):
        torch.manual_seed(rank)
        module = kind(3, affine=affine, track_running_stats=tracked).train(training)
        _assert_same_training(module, torch.randn(4, 3, *[5] * rank), device)


def test_norms_without_statistics_as_functions(device):
    x = torch.randn(2, 3, 4)
    torch.testing.assert_close(F.instance_norm(x.to(device)).cpu(), F.instance_norm(x))
    got, want = (
        F.batch_norm(x.to(d), None, None, training=True, eps=0.1).cpu() for d in (device, "cpu")
    )
    torch.testing.assert_close(got, want)
    with pytest.raises(RuntimeError, match="running_mean"):
        F.batch_norm(x.to(device), None, None)
