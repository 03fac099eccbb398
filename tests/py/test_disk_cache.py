"""The on-disk tier of the program cache: used by the next process, and never trusted."""

import pytest

STEP = """
import torch, torch_tpu
x = torch.ones(2, 3, device="tpu")
assert ((x + 1) * 3).cpu().tolist() == [[6.0] * 3] * 2
stats = torch.tpu.cache_stats()["disk"]
print(stats["hits"], stats["misses"])
"""


def counts(text: str) -> tuple[int, int]:
    hits, misses = map(int, text.split())
    return hits, misses


def test_second_process_compiles_nothing(python, tmp_path):
    """What one process compiled, the next one loads."""
    cache = str(tmp_path / "cache")
    assert counts(python(STEP, TORCH_TPU_CACHE_DIR=cache))[0] == 0
    hits, misses = counts(python(STEP, TORCH_TPU_CACHE_DIR=cache))
    assert hits > 0
    assert misses == 0


@pytest.mark.parametrize("harm", ["empty", "cut short", "changed", "not ours"])
def test_broken_files_are_compiled_again(python, tmp_path, harm):
    """A file that is not as it was written costs a compilation, nothing else."""
    cache = tmp_path / "cache"
    python(STEP, TORCH_TPU_CACHE_DIR=str(cache))
    files = sorted(cache.glob("*.exe"))
    assert files
    for file in files:
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        broken = {
            "empty": b"",
            "cut short": file.read_bytes()[:50],
            "changed": bytes(data),
            "not ours": b"\x7fELF" * 100,
        }
        file.write_bytes(broken[harm])
    hits, misses = counts(python(STEP, TORCH_TPU_CACHE_DIR=str(cache)))
    assert hits == 0
    assert misses == len(files)
    assert counts(python(STEP, TORCH_TPU_CACHE_DIR=str(cache)))[1] == 0


def test_switched_off(python, tmp_path):
    """``off`` keeps nothing."""
    home = tmp_path / "home"
    home.mkdir()
    python(STEP, TORCH_TPU_CACHE_DIR="off", XDG_CACHE_HOME=str(home))
    assert list(home.iterdir()) == []
