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
