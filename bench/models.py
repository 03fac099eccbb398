"""Networks and data of the training measurements.

Weights and data come from fixed seeds, on the CPU.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

BYTES = 256  # the vocabulary of texts

Batch = tuple[Tensor, Tensor]


class Attention(nn.Module):
    """Causal self-attention, written out: not every backend has a fused one for every device."""

    def __init__(self, width: int, heads: int, context: int):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(width, 3 * width)
        self.to_out = nn.Linear(width, width)
        future = torch.ones(context, context, dtype=torch.bool).triu(1)
        self.register_buffer("mask", torch.zeros(context, context).masked_fill(future, -torch.inf))

    def forward(self, x: Tensor) -> Tensor:
        length, width = x.shape[1:]
        qkv = self.to_qkv(x).unflatten(-1, (3, self.heads, width // self.heads))
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind()
        scores = q @ k.mT / (width // self.heads) ** 0.5 + self.mask[:length, :length]
        return self.to_out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Gpt(nn.Module):
    """Pre-norm transformer over bytes."""

    def __init__(self, layers: int = 4, width: int = 256, heads: int = 4, context: int = 256):
        super().__init__()
        self.bytes, self.places = nn.Embedding(BYTES, width), nn.Embedding(context, width)
        self.attentions = nn.ModuleList(Attention(width, heads, context) for _ in range(layers))
        self.feeds = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.head = nn.Linear(width, BYTES, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = self.bytes(x) + self.places.weight[: x.shape[1]]
        for i, (attention, feed) in enumerate(zip(self.attentions, self.feeds, strict=True)):
            h = h + attention(self.norms[2 * i](h))
            h = h + feed(self.norms[2 * i + 1](h))
        return self.head(self.norms[-1](h))


class Lstm(nn.Module):
    """Two layers over bytes."""

    def __init__(self, width: int = 128, layers: int = 2):
        super().__init__()
        self.bytes = nn.Embedding(BYTES, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, BYTES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(self.bytes(x))[0])


def conv(inputs: int, outputs: int, kernel: int, stride: int) -> nn.Sequential:
    """Convolution and batch norm."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs)
    )


class Shortcut(nn.Module):
    """Two convolutions with a way around them."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.first, self.second = conv(inputs, outputs, 3, stride), conv(outputs, outputs, 3, 1)
        self.around = conv(inputs, outputs, 1, stride) if inputs != outputs else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.second(F.relu(self.first(x))) + self.around(x))


def cnn() -> nn.Module:
    """ResNet of eight blocks for small pictures."""
    widths = (64, 64, 128, 256, 512)
    blocks: list[nn.Module] = []
    for i in range(4):
        blocks.append(Shortcut(widths[i], widths[i + 1], 1 if i == 0 else 2))
        blocks.append(Shortcut(widths[i + 1], widths[i + 1], 1))
    return nn.Sequential(
        conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1), *blocks,
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip


def mlp() -> nn.Module:
    """Three linear layers."""
    return nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )


def texts(rows: int, length: int) -> Iterator[Batch]:
    """Yield pieces of a source file of Python's library, and the same one byte on."""
    data = torch.frombuffer(bytearray(Path(argparse.__file__).read_bytes()), dtype=torch.uint8)
    windows = data.long().unfold(0, length + 1, 1)
    generator = torch.Generator().manual_seed(3)
    while True:
        piece = windows[torch.randint(len(windows), (rows,), generator=generator)]
        yield piece[:, :-1].contiguous(), piece[:, 1:].contiguous()


def noisy_classes(rows: int, *shape: int) -> Iterator[Batch]:
    """Yield ten fixed patterns under noise, and which one it is."""
    generator = torch.Generator().manual_seed(3)
    patterns = torch.randn(10, *shape, generator=generator)
    while True:
        y = torch.randint(10, (rows,), generator=generator)
        yield patterns[y] + torch.randn(rows, *shape, generator=generator), y


MODELS = {
    "gpt": (Gpt, lambda: texts(8, 256)),
    "cnn": (cnn, lambda: noisy_classes(8, 3, 64, 64)),
    "mlp": (mlp, lambda: noisy_classes(64, 784)),
    "lstm": (Lstm, lambda: texts(16, 64)),
}


def make(name: str) -> tuple[nn.Module, Iterator[Batch]]:
    """Return the network ``name`` with its weights, and its endless batches."""
    network, batches = MODELS[name]
    torch.manual_seed(0)
    return network(), batches()
