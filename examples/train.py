"""Train a small GPT on the bytes of Python's own standard library.

python examples/train.py --device cpu
python examples/train.py --device tpu
"""

import argparse
import time

import torch
import torch.nn.functional as F
from text import source_text, windows
from torch import Tensor, nn
from torch.optim import AdamW

import torch_tpu  # noqa: F401  (registers the device "tpu")


class Block(nn.Module):
    """Attention and a two-layer network, each added to what comes in."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map ``[batch, length, width]`` to the same shape."""
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Predicts the next byte."""

    def __init__(self, layers: int = 4, width: int = 256, heads: int = 4, context: int = 256):
        super().__init__()
        self.token, self.place = nn.Embedding(256, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 256, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map bytes ``[batch, length]`` to logits ``[batch, length, 256]``."""
        x = self.token(tokens) + self.place(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def train(
    device: torch.device, steps: int, batch: int = 8, length: int = 256, report: int = 10
) -> list[float]:
    """Train a new model; the weights and the text depend on nothing but the arguments.

    Args:
        device: where the model and its optimizer live.
        steps, batch, length: how many steps, of how many pieces of text, of how many bytes.
        report: print the loss and the speed once in so many steps; 0: never.
    Returns:
        The loss of each step, in nats per byte.
    """
    torch.manual_seed(0)
    model = GPT(context=length).to(device)
    optimizer = AdamW(model.parameters(), lr=1e-3)
    text = torch.tensor(list(source_text(2_000_000).encode()))
    losses: list[float] = []
    start = time.perf_counter()
    for step, piece in enumerate(windows(text, batch, length + 1, steps), 1):
        piece = piece.to(device)
        logits = model(piece[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), piece[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if report and (step == 1 or step % report == 0):
            seconds, start = time.perf_counter() - start, time.perf_counter()
            tokens = batch * length * (1 if step == 1 else min(report, step - 1))
            print(f"step {step:4}  loss {losses[-1]:.4f}  {tokens / seconds:8.0f} bytes/s")
    return losses


def main() -> None:
    """Train as the command line says."""
    options = argparse.ArgumentParser(description="Train a small GPT.")
    options.add_argument("--device", default="tpu", type=torch.device, help="cpu or tpu")
    options.add_argument("--steps", default=100, type=int)
    options.add_argument("--batch", default=8, type=int)
    options.add_argument("--length", default=256, type=int)
    chosen = options.parse_args()
    train(chosen.device, chosen.steps, chosen.batch, chosen.length)


if __name__ == "__main__":
    main()
