"""The examples: what they do on the device is what they do on the CPU."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def examples(monkeypatch):
    """Make the modules of ``examples/`` importable, as they are for a script that lies there."""
    monkeypatch.syspath_prepend(str(EXAMPLES))


def test_train_gives_the_losses_of_the_cpu(examples, device):
    import train

    on_cpu = train.train(torch.device("cpu"), steps=3, batch=2, length=32, report=0)
    on_tpu = train.train(device, steps=3, batch=2, length=32, report=0)
    assert on_cpu[2] < on_cpu[0]
    torch.testing.assert_close(torch.tensor(on_tpu), torch.tensor(on_cpu), rtol=1e-4, atol=0)


def test_train_runs_as_a_script():
    command = [sys.executable, str(EXAMPLES / "train.py"), "--device", "cpu"]
    done = subprocess.run(
        [*command, "--steps", "2", "--batch", "1", "--length", "16"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "step    1  loss 5." in done.stdout


def test_windows_depend_on_the_seed_only(examples):
    from text import windows

    tokens = torch.arange(100)
    first, again = (torch.stack(list(windows(tokens, 2, 8, 3))) for _ in range(2))
    assert first.shape == (3, 2, 8) and torch.equal(first, again)
    assert (first.diff() == 1).all()


def _small_llama():
    transformers = pytest.importorskip(
        "transformers", reason="the packages of the demo are not installed"
    )
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=97,
        hidden_size=36,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=64,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
    )
    return transformers.AutoModelForCausalLM.from_config(config).eval()


@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_a_language_model_generates_what_it_does_on_the_cpu(device, cache):
    model = _small_llama()
    prompt = torch.randint(3, 97, (1, 9))
    options = {"do_sample": False, "max_new_tokens": 6, "pad_token_id": 2}
    if cache == "static":
        options |= {"cache_implementation": "static", "disable_compile": True}
    expected = model.generate(prompt, **options).tolist()
    assert model.to(device).generate(prompt.to(device), **options).tolist() == expected


def test_a_language_model_fine_tunes_as_on_the_cpu(examples, device):
    model = _small_llama()
    import copy

    from finetune import finetune

    text = list(torch.randint(3, 97, (4, 1, 16)))
    on_tpu = copy.deepcopy(model).to(device)
    assert on_tpu.lm_head.weight is on_tpu.model.embed_tokens.weight
    tpu, cpu = (torch.tensor(list(finetune(m, text, rate=1e-3))) for m in (on_tpu, model))
    torch.testing.assert_close(tpu, cpu, rtol=1e-3, atol=0)


def test_a_tied_model_goes_through_safetensors(examples, device, tmp_path):
    model = _small_llama().to(device)
    from safetensors.torch import load_model, save_model

    save_model(model, str(tmp_path / "x.safetensors"))
    other = _small_llama()
    other.lm_head.weight.data.zero_()
    load_model(other, str(tmp_path / "x.safetensors"))
    assert torch.equal(other.lm_head.weight, model.lm_head.weight.cpu())
