"""Text that every machine with Python has: the sources of its standard library."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor


def source_text(characters: int) -> str:
    """Return the first ``characters`` of the modules of the standard library, by name."""
    parts: list[str] = []
    size = 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        parts.append(path.read_text(encoding="utf-8", errors="replace"))
        size += len(parts[-1])
        if size >= characters:
            break
    return "".join(parts)[:characters]


def windows(tokens: Tensor, batch: int, length: int, steps: int, seed: int = 0) -> Iterator[Tensor]:
    """Yield ``steps`` pieces of ``tokens``, ``[batch, length]``, from places by ``seed``."""
    places = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        starts = torch.randint(len(tokens) - length + 1, (batch,), generator=places)
        yield torch.stack([tokens[start : start + length] for start in starts.tolist()])
