"""The demo: a language model answers and learns on the device, beside the same on the CPU.

python examples/demo.py

What the device does is compared with what the CPU does: each token of an answer, and the loss of
each step of fine-tuning. The exit status says whether they agree.
"""

import argparse
import copy
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from chat import answer, load
from finetune import finetune, loss_of, pieces
from safetensors.torch import load_model, save_model
from torch import Tensor
from tqdm import tqdm
from transformers import AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

QUESTION = "What is the capital of France, and what is it known for?"
NEAR = 1e-3  # how far a loss may be from the CPU's, as a part of it


class Failed(Exception):
    """What did not come out as it should."""


def check(holds: bool, what: str) -> None:
    """Print that something holds.

    Raises:
        Failed: it does not.
    """
    if not holds:
        raise Failed(what)
    print(f"ok: {what}")


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """Return what ``function`` returns, and the seconds that it took."""
    start = time.perf_counter()
    return function(), time.perf_counter() - start


def compiling() -> str:
    """Return what has been compiled so far, in words."""
    stats, cache = torch.tpu.compilation_stats(), torch.tpu.cache_stats()
    text = (
        f"{stats['programs']} programs compiled in {stats['compile_seconds']:.1f} s, "
        f"{cache['memory']['hits']} cache hits"
    )
    if loaded := cache.get("disk", {}).get("hits", 0):
        text += f", {loaded} programs from earlier runs"
    return text


def chat(
    model: PreTrainedModel,
    on_tpu: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    tokens: int,
) -> None:
    """Ask both models the same and compare the answers."""
    print(f"\n== An answer, on tpu ==\n{QUESTION}\n")
    here, first = timed(lambda: answer(on_tpu, tokenizer, QUESTION, tokens, show=True))
    print(f"\n{len(here)} tokens in {first:.1f} s; {compiling()}")
    again, warm = timed(lambda: answer(on_tpu, tokenizer, QUESTION, tokens))
    there, cpu = timed(lambda: answer(model, tokenizer, QUESTION, tokens))
    print(
        f"once more {warm / len(again) * 1e3:.0f} ms a token; CPU {cpu / len(there) * 1e3:.0f} ms"
    )
    check(here.tolist() == there.tolist(), "token for token what the CPU answers")
    check(here.tolist() == again.tolist(), "the same twice")


def learn(model: PreTrainedModel, name: str, text: list[Tensor]) -> tuple[list[float], float]:
    """Fine-tune with a progress bar; return the losses and the tokens a second after step 1."""
    losses: list[float] = []
    start = time.perf_counter()
    for loss in (bar := tqdm(finetune(model, text), total=len(text), desc=f"{name:>4}")):
        if not losses:
            start = time.perf_counter()
        losses.append(loss)
        bar.set_postfix_str(f"loss {loss:.4f}")
    tokens = sum(piece.numel() for piece in text[1:])
    return losses, tokens / (time.perf_counter() - start)


def table(cpu: list[float], tpu: list[float]) -> float:
    """Print the losses side by side; return their largest relative difference."""
    print("step   loss on cpu   on tpu     difference")
    worst = 0.0
    for i, (a, b) in enumerate(zip(cpu, tpu, strict=True)):
        difference = abs(a - b) / abs(a)
        worst = max(worst, difference)
        print(f"{i + 1:4}   {a:11.6f}   {b:.6f}   {difference:.1e}")
    return worst


def train(
    model: PreTrainedModel,
    on_tpu: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    steps: int,
    length: int,
) -> None:
    """Fine-tune both models on the same text and compare the losses."""
    *text, held_out = pieces(tokenizer, 1, length, steps + 1)
    size = sum(p.numel() for p in model.parameters())
    print(
        f"\n== Fine-tuning all {size / 1e6:.0f} million weights, float32, {length} tokens a step =="
    )
    before = loss_of(on_tpu, held_out)
    tpu, tpu_speed = learn(on_tpu, "tpu", text)
    cpu, cpu_speed = learn(model, "cpu", text)
    worst = table(cpu, tpu)
    print(f"tpu {tpu_speed:.0f} tokens/s, cpu {cpu_speed:.0f}; {compiling()}")
    print(f"at most {torch.tpu.max_memory_allocated() / 2**30:.1f} GiB on the device")
    check(worst < NEAR, f"each loss within {NEAR:g} of the CPU's; the worst is {worst:.1e} away")
    after = loss_of(on_tpu, held_out)
    check(after < before, f"loss of text not trained on: {before:.4f} before, {after:.4f} after")


def save(on_tpu: PreTrainedModel) -> None:
    """Save from the device as safetensors, load on the CPU, and compare."""
    print("\n== Saving ==")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.safetensors")
        save_model(on_tpu, str(file))
        size = file.stat().st_size
        loaded = AutoModelForCausalLM.from_config(on_tpu.config, dtype=torch.float32)
        load_model(loaded, str(file))
    kept = loaded.state_dict()
    same = all(torch.equal(kept[name], x.cpu()) for name, x in on_tpu.state_dict().items())
    check(same, f"{size / 1e6:.0f} MB of safetensors, loaded on the CPU, hold the same weights")


def main() -> None:
    """Run the demo; end with status 1 where the device and the CPU disagree."""
    options = argparse.ArgumentParser(description="A language model on the device tpu.")
    options.add_argument("--tokens", default=48, type=int, help="how long the answer may be")
    options.add_argument("--steps", default=20, type=int, help="steps of fine-tuning")
    options.add_argument("--length", default=128, type=int, help="tokens a step")
    chosen = options.parse_args()
    start = time.perf_counter()
    logging.set_verbosity_error()
    device = torch.tpu.get_device_properties(0)
    print(f"tpu:0 is {device.name}, by {Path(device.plugin_path).name}")
    (model, tokenizer), seconds = timed(load)
    on_tpu, moved = timed(lambda: copy.deepcopy(model).to("tpu"))
    print(f"SmolLM2-135M-Instruct read in {seconds:.1f} s, on the device after {moved:.1f} s more")
    try:
        chat(model, on_tpu, tokenizer, chosen.tokens)
        train(model, on_tpu, tokenizer, chosen.steps, chosen.length)
        save(on_tpu)
    except Failed as failure:
        raise SystemExit(f"FAILED: {failure}") from failure
    print(f"\nall is well, after {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
