"""What is measured, on one device in one process. Each function returns figures by name.

A figure is ``{"wall": seconds, "cpu": seconds}``, where cpu is the time of all cores and threads of
the process, or ``{"value": number}``.
"""

import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

import models
import torch
from torch import Tensor
from torch.nn import functional as F

Figures = dict[str, Any]


class Clock:
    """Takes the wall clock and the processor's at once."""

    def __init__(self):
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        """Return the seconds since it was made."""
        return {"wall": time.perf_counter() - self.wall, "cpu": time.process_time() - self.cpu}


def middle(times: Iterable[dict[str, float]], scale: float = 1.0) -> dict[str, float]:
    """Return the median of each clock."""
    times = list(times)
    return {clock: median(t[clock] for t in times) * scale for clock in times[0]}


# ---- one operator on a shape that was not there before ----


def _matrix(n: int) -> Tensor:
    return torch.randn(n, n + 3)


NEW_SHAPES: dict[str, tuple[Callable, Callable]] = {
    "add": (lambda n: (_matrix(n), _matrix(n)), torch.add),
    "matmul": (lambda n: (_matrix(n), _matrix(n).t().contiguous()), torch.matmul),
    "tanh": (lambda n: (_matrix(n),), torch.tanh),
    "softmax": (lambda n: (_matrix(n),), lambda x: x.softmax(-1)),
    "layer_norm": (lambda n: (_matrix(n),), lambda x: F.layer_norm(x, x.shape[1:])),
    "index_select": (
        lambda n: (_matrix(n), torch.arange(0, n, 3)),
        lambda x, i: x.index_select(0, i),
    ),
}


def first(device: torch.device, shapes: int = 12) -> Figures:
    """First call on each of ``shapes`` shapes, result on the host; inputs are on the device."""
    figures = {}
    for name, (inputs, op) in NEW_SHAPES.items():
        times = []
        for n in range(11, 11 + 7 * (shapes + 1), 7):
            args = [x.to(device) for x in inputs(n)]
            args[0].cpu()
            clock = Clock()
            op(*args).cpu()
            times.append(clock.read())
        figures[f"first {name}"] = middle(times[1:])  # the first of all starts the device
    return figures


# ---- many tiny operators ----


def _adds(y: Tensor, x: Tensor, count: int) -> Tensor:
    for _ in range(count):
        y = y + x
    return y


def _mixed(y: Tensor, x: Tensor, count: int) -> Tensor:
    for _ in range(count // 8):
        y = torch.maximum(y * x, x).sigmoid()
        y = (y - x).abs().tanh()
        y = (y + 1).neg()
    return y


def _in_place(y: Tensor, x: Tensor, count: int) -> Tensor:
    y = y.clone()
    for _ in range(count):
        y.add_(x)
    return y


CHAINS = {"adds": _adds, "mixed": _mixed, "in-place": _in_place}


@torch.no_grad()
def ops(device: torch.device, count: int = 1000) -> Figures:
    """Each chain of ``count`` operators on 16 numbers, read back at the end: time per operator."""
    torch.manual_seed(0)
    y, x = torch.rand(16).to(device), torch.rand(16).to(device)
    figures = {}
    for name, chain in CHAINS.items():
        times = []
        for _ in range(12):
            clock = Clock()
            chain(y, x, count).cpu()
            times.append(clock.read())
        figures[f"op {name}"] = middle(times[3:], 1 / count)
    return figures


# ---- convolutions ----

# channels, size, features, kernel, stride: layers of residual networks, 8 pictures
CONVOLUTIONS = [
    (3, 224, 64, 7, 2),
    (64, 56, 64, 3, 1),
    (128, 28, 128, 3, 1),
    (256, 14, 256, 3, 1),
    (512, 7, 512, 3, 1),
    (256, 56, 64, 1, 1),
    (128, 56, 128, 3, 2),
]
FORMATS = {"nchw": torch.contiguous_format, "nhwc": torch.channels_last}


def _layer(device: torch.device, dims: tuple, memory_format: torch.memory_format) -> dict:
    """Return what runs one layer: forward, its gradient by input, and by weight."""
    channels, size, features, kernel, stride = dims
    options = [stride] * 2, [kernel // 2] * 2, [1, 1], False, [0, 0], 1
    x = torch.randn(8, channels, size, size).to(memory_format=memory_format).to(device)
    w = torch.randn(features, channels, kernel, kernel).to(memory_format=memory_format).to(device)
    forward, backward = torch.ops.aten.convolution, torch.ops.aten.convolution_backward
    g = torch.ones_like(forward(x, w, None, *options))
    return {
        "y": lambda: forward(x, w, None, *options),
        "dx": lambda: backward(g, x, w, None, *options, [True, False, False]),
        "dw": lambda: backward(g, x, w, None, *options, [False, True, False]),
    }


def conv(device: torch.device, rounds: int = 6) -> Figures:
    """Each layer in both memory formats: the median of all rounds but the first."""
    torch.manual_seed(0)
    figures = {}
    for format_name, memory_format in FORMATS.items():
        for dims in CONVOLUTIONS:
            channels, size, features, kernel, stride = dims
            shape = f"{kernel}x{kernel}/{stride} {channels}-{features} @{size}"
            for step_name, step in _layer(device, dims, memory_format).items():
                times = []
                for _ in range(rounds):
                    clock = Clock()
                    result = step()  # kept: nobody waits for what is dropped before it has run
                    if device.type != "cpu":
                        torch.accelerator.synchronize()
                    times.append(clock.read())
                    del result
                figures[f"conv {format_name} {shape} {step_name}"] = middle(times[1:])
    return figures


# ---- training ----


def train(device: torch.device, name: str, steps: int = 20) -> Figures:
    """Steps of AdamW; the first one apart, and the median of the second half."""
    network, batches = models.make(name)
    network.to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    times, losses = [], []
    for _ in range(steps):
        x, y = next(batches)
        clock = Clock()
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(network(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if device.type != "cpu":  # what the loss did not wait for belongs to this step too
            torch.accelerator.synchronize()
        times.append(clock.read())
    return {
        f"{name} first step": times[0],
        f"{name} step": middle(times[steps // 2 :]),
        f"{name} losses": {"losses": losses},
    }
