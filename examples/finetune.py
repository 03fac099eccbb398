"""Fine-tune all weights of SmolLM2-135M in float32 on the sources of Python's standard library.

python examples/finetune.py --device tpu --save smollm2-python.safetensors
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import torch
from chat import load
from safetensors.torch import save_model
from text import source_text, windows
from torch import Tensor
from torch.optim import AdamW
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase


def pieces(tokenizer: PreTrainedTokenizerBase, batch: int, length: int, steps: int) -> list[Tensor]:
    """Return ``steps`` pieces of text as tokens, ``[batch, length]`` each."""
    tokens = tokenizer(source_text(400_000), return_tensors="pt").input_ids[0]
    return list(windows(tokens, batch, length, steps))


def finetune(model: PreTrainedModel, text: list[Tensor], rate: float = 2e-5) -> Iterator[float]:
    """Train ``model`` where it is, one step for each piece of ``text``; yield each step's loss."""
    model.train()
    optimizer = AdamW(model.parameters(), lr=rate)
    for piece in text:
        piece = piece.to(model.device)
        loss = model(input_ids=piece, labels=piece).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield loss.item()
    model.eval()


@torch.no_grad()
def loss_of(model: PreTrainedModel, piece: Tensor) -> float:
    """Return the loss, in nats per token, of a piece of text."""
    piece = piece.to(model.device)
    return model(input_ids=piece, labels=piece).loss.item()


def main() -> None:
    """Fine-tune as the command line says."""
    options = argparse.ArgumentParser(description="Fine-tune a small language model.")
    options.add_argument("--device", default="tpu", type=torch.device, help="cpu or tpu")
    options.add_argument("--steps", default=20, type=int)
    options.add_argument("--batch", default=1, type=int)
    options.add_argument("--length", default=128, type=int)
    options.add_argument("--save", type=Path, help="a file for the weights")
    chosen = options.parse_args()
    model, tokenizer = load()
    model = model.to(chosen.device)
    *text, held_out = pieces(tokenizer, chosen.batch, chosen.length, chosen.steps + 1)
    print(f"loss of text not trained on: {loss_of(model, held_out):.4f}")
    for loss in (bar := tqdm(finetune(model, text), total=len(text), desc=str(chosen.device))):
        bar.set_postfix_str(f"loss {loss:.4f}")
    print(f"and now: {loss_of(model, held_out):.4f}")
    if chosen.save:
        save_model(model, str(chosen.save))


if __name__ == "__main__":
    main()
