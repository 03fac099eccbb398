"""Memory of a device. Sizes are bytes."""

from collections import OrderedDict

import torch

from torch_tpu import _C
from torch_tpu._internal.device import DeviceLike, index_of


def memory_allocated(device: DeviceLike = None) -> int:
    """Return the bytes that tensors hold on a device now."""
    return _C.memory(index_of(device))["allocated"]


def max_memory_allocated(device: DeviceLike = None) -> int:
    """Return the most bytes that tensors held, since the start or ``reset_peak_memory_stats``."""
    return _C.memory(index_of(device))["peak"]


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Let ``max_memory_allocated`` start over from what is allocated now."""
    _C.reset_peak(index_of(device))


def memory_reserved(device: DeviceLike = None) -> int:
    """Return the bytes that the plugin has taken; what tensors hold where it keeps no account."""
    memory = _C.memory(index_of(device))
    return memory["allocated"] if memory["reserved"] < 0 else memory["reserved"]


def memory_stats(device: DeviceLike = None) -> OrderedDict[str, int]:
    """Return the allocator's statistics by name, such as ``allocated_bytes.all.current``.

    Empty before the plugin is loaded.
    Source: ``torch.accelerator.memory_stats``.
    """
    return torch.accelerator.memory_stats(torch.device("tpu", index_of(device)))


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Return the bytes free and in all on a device. Loads the plugin.

    Raises:
        NotImplementedError: the plugin does not say.
    """
    return _C.memory_info(index_of(device))


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    """Return a table of a device's memory for people.

    Args:
        abbreviated: only what tensors hold.
    """
    index = index_of(device)
    memory = _C.memory(index)
    rows = [("held by tensors", memory["allocated"]), ("most held", memory["peak"])]
    if not abbreviated:
        rows += [("taken by the plugin", memory["reserved"]), ("on the device", memory["limit"])]
    lines = [f"tpu:{index}, MiB, {memory['storages']} storages"]
    for name, size in rows:
        text = "not known" if size < 0 else f"{size / 2**20:,.2f}"
        lines.append(f"  {name:<20} {text:>14}")
    return "\n".join(lines)


def empty_cache() -> None:
    """Give back memory that no tensor uses. Plugins do so themselves: this waits for nothing."""
    torch.accelerator.empty_cache()
