"""Modules that move to the device: the same parameters afterwards, shared ones shared."""

import torch
import torch.nn.functional as F
from torch import nn


class _Tied(nn.Module):
    """A layer whose weight is also that of an embedding."""

    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.token.weight

    def forward(self, x):
        return self.head(self.token(x))


def _tied():
    torch.manual_seed(0)
    return _Tied()


def test_to_keeps_the_parameter_objects(device):
    model = _tied()
    weight = model.token.weight
    model.to(device)
    assert model.token.weight is weight and model.head.weight is weight
    assert weight.device.type == "tpu" and weight.is_leaf and weight.requires_grad
    model.cpu()
    assert model.head.weight is weight and weight.device.type == "cpu"


def test_an_optimizer_made_before_the_move_trains_the_tied_weight(device):
    losses = {}
    for where in ("cpu", device):
        model = _tied()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        model.to(where)
        x = torch.arange(5, device=where)
        losses[str(where)] = row = []
        for _ in range(3):
            loss = F.cross_entropy(model(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            row.append(loss.item())
    assert losses["cpu"][2] < losses["cpu"][0]
    torch.testing.assert_close(torch.tensor(losses["tpu"]), torch.tensor(losses["cpu"]))


def test_gradients_move_along(device):
    model = _tied()
    x = torch.arange(5)
    F.cross_entropy(model(x), x).backward()
    expected = model.token.weight.grad.clone()
    model.to(device)
    assert model.token.weight.grad.device.type == "tpu"
    assert torch.equal(model.token.weight.grad.cpu(), expected)


def test_data_can_be_assigned_across_devices(device):
    x = torch.ones(3)
    x.data = torch.zeros(2, device=device)
    assert x.device.type == "tpu" and x.tolist() == [0.0, 0.0]
