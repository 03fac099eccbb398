"""Small networks train on the device as on the CPU, with the same losses in each process."""

import copy
import json

import pytest
import torch
from torch import nn
from torch.nn import functional as F

STEPS = 6


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(12, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4)
        )

    def forward(self, x, y):
        return F.cross_entropy(self.layers(x), y)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=2)
        self.head = nn.Linear(8, 4)

    def forward(self, x, y):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        x = x + F.relu(x)
        return F.cross_entropy(self.head(F.adaptive_avg_pool2d(self.second(x), 1).flatten(1)), y)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 16, num_layers=2, batch_first=True)
        self.head = nn.Linear(16, 20)

    def forward(self, x, y):
        return F.cross_entropy(
            self.head(self.lstm(self.embedding(x))[0]).flatten(0, 1), y.flatten()
        )


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (
            t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for t in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(32, 16), nn.Embedding(10, 16)
        self.blocks = nn.Sequential(Block(16, 2), Block(16, 2))
        self.norm = nn.LayerNorm(16)

    def forward(self, x, y):
        x = self.tokens(x) + self.places(torch.arange(x.shape[1], device=x.device))
        scores = self.norm(self.blocks(x)) @ self.tokens.weight.t()
        return F.cross_entropy(scores.flatten(0, 1), y.flatten())


def _numbers(shape):
    return torch.randn(shape)


def _words(top, shape):
    return torch.randint(top, shape)


NETS = {
    "mlp": (Mlp, lambda: (_numbers((8, 12)), _words(4, (8,)))),
    "cnn": (Cnn, lambda: (_numbers((4, 3, 8, 8)), _words(4, (4,)))),
    "lstm": (Lstm, lambda: (_words(20, (3, 6)), _words(20, (3, 6)))),
    "gpt": (Gpt, lambda: (_words(32, (2, 10)), _words(32, (2, 10)))),
}
OPTIMIZERS = {
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-2),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3),
    "adamw fused": lambda p: torch.optim.AdamW(p, lr=1e-2, fused=True),
    "adam one by one": lambda p: torch.optim.Adam(p, lr=1e-2, foreach=False, amsgrad=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-3, centered=True),
}


def losses(net, optimizer, device, steps=STEPS, clip=False):
    make, batch = NETS[net]
    torch.manual_seed(1)
    model = make().to(device)
    opt = OPTIMIZERS[optimizer](model.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    out = []
    for _ in range(steps):
        inputs = [t.to(device) for t in batch()]
        opt.zero_grad()
        loss = model(*inputs)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
        schedule.step()
        out.append(loss.item())
    return out


def _check(net, optimizer, device, **options):
    want, got = (losses(net, optimizer, place, **options) for place in ("cpu", device))
    for w, g in zip(want, got, strict=True):
        assert g == pytest.approx(w, rel=1e-5), f"{got}\n{want}"


@pytest.mark.parametrize("net", NETS)
def test_losses_are_those_of_the_cpu(device, net):
    _check(net, "adamw", device, clip=net in ("gpt", "lstm"))


def test_loops_read_weights_that_were_updated_in_place(device):
    """A plugin may keep a weight packed for the products of a long loop: not beyond the run."""
    torch.manual_seed(1)
    mine = nn.LSTM(128, 128, num_layers=2, batch_first=True)
    theirs = copy.deepcopy(mine).to(device)
    x = torch.randn(16, 64, 128)
    for _ in range(3):
        for lstm, input in ((mine, x), (theirs, x.to(device))):
            lstm.zero_grad()
            lstm(input)[0].square().sum().backward()
        for p, q in zip(mine.parameters(), theirs.parameters(), strict=True):
            assert (q.grad.cpu() - p.grad).abs().max() < 1e-5 * p.grad.abs().max()
            with torch.no_grad():
                change = torch.randn_like(p) * 0.1
                p.add_(change)
                q.add_(change.to(device))


@pytest.mark.parametrize("optimizer", [o for o in OPTIMIZERS if o != "adamw"])
def test_optimizers(device, optimizer):
    _check("mlp", optimizer, device)


def test_a_changing_learning_rate_compiles_nothing_new(device):
    losses("mlp", "adamw", device, steps=3)
    before = torch.tpu.compilation_stats()["programs"]
    losses("mlp", "adamw", device, steps=8)
    assert torch.tpu.compilation_stats()["programs"] == before


PROCESS = """
    import json, sys, torch, torch_tpu
    sys.path.insert(0, sys.argv[1])
    from test_training import losses
    print(json.dumps([losses(net, "adamw", "tpu", 3) for net in ("gpt", "lstm", "mlp")]))
"""


def test_two_processes_give_the_same_losses(python):
    folder = __file__.rpartition("/")[0]
    first, second = (json.loads(python(PROCESS, folder)) for _ in range(2))
    assert first == second


def test_dropout_trains_and_repeats(device):
    def run():
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 1)).to(device)
        loss = model(torch.ones(16, 8, device=device)).square().mean()
        loss.backward()
        return loss.item(), model[0].weight.grad.cpu()

    (a, x), (b, y) = run(), run()
    assert a == b and torch.equal(x, y)
