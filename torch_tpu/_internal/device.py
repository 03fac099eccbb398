"""Devices, their properties, streams and events."""

import os
from typing import NamedTuple

import torch

from torch_tpu import _C
from torch_tpu._internal import plugin

DeviceLike = torch.device | str | int | None


def index_of(device: DeviceLike) -> int:
    """Return the index that ``device`` names; None and ``"tpu"`` are the current device.

    Raises:
        ValueError: it names no tpu device.
        RuntimeError: there is no device of this index. 0 is taken for granted, negative ones too.
    """
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != "tpu":
            raise ValueError(f"expected a tpu device, got {device}")
        device = device.index
    if device is None:
        return _C.current_device()
    index = int(device)
    if index > 0 and index >= _C.device_count():
        raise RuntimeError(f"tpu: no device of index {index}: there are {_C.device_count()}")
    return index


def is_available() -> bool:
    """Return whether the plugin is installed. Does not load it."""
    return _C.is_available()


def is_initialized() -> bool:
    """Return whether the plugin is loaded and usable in this process."""
    return _C.is_open()


def device_count() -> int:
    """Return how many tpu devices this process can use; 0 where the plugin cannot be loaded.

    Raises:
        RuntimeError: an environment variable has a value that it does not take.
    """
    plugin.check_environment()
    return _C.device_count()


def current_device() -> int:
    """Return the index of this thread's current device."""
    return _C.current_device()


def set_device(device: DeviceLike) -> None:
    """Make ``device`` this thread's current one; a negative index does nothing.

    Raises:
        RuntimeError: there is no such device.
    """
    index = index_of(device)
    if index >= 0:
        _C.set_device(index)


def exchange_device(device: int) -> int:
    """Make ``device`` the current one, unless it is negative, and return the former."""
    before = _C.current_device()
    set_device(device)
    return before


class device:  # noqa: N801  (the name is torch.cuda's)
    """Make a device the current one for a ``with`` block.

    Args:
        device: as for ``set_device``; None or a negative index changes nothing.
    """

    def __init__(self, device: DeviceLike):
        self.idx = -1 if device is None else index_of(device)
        self.prev_idx = -1

    def __enter__(self):
        self.prev_idx = exchange_device(self.idx)
        return self

    def __exit__(self, *error):
        set_device(self.prev_idx)
        return False


class device_of(device):  # noqa: N801
    """Make the device of a tensor or storage the current one; for one not on tpu do nothing."""

    def __init__(self, obj: torch.Tensor | torch.UntypedStorage):
        super().__init__(obj.device if obj.device.type == "tpu" else None)


def lazy_init() -> None:
    """Load the plugin now.

    Raises:
        RuntimeError: it cannot be loaded, or this process was forked from one that had loaded it.
    """
    _C.open()


# ---- properties ----


class DeviceProperties(NamedTuple):
    """What is known of a device; ``name`` is its kind, as the plugin says it."""

    name: str
    total_memory: int  # bytes; 0 where the plugin does not say
    core_count: int
    peak_flops: float | None  # of bfloat16 products, a second
    platform: str
    plugin_path: str
    plugin_version: str
    pjrt_version: tuple[int, int]

    @property
    def multi_processor_count(self) -> int:
        """``core_count``, by the name that CUDA programs use."""
        return self.core_count


# Kind as PJRT says it: cores a device, bfloat16 FLOP/s a device. Source: cloud.google.com/tpu/docs.
_CHIPS = {
    "TPU v4": (2, 275e12),
    "TPU v5 lite": (1, 197e12),
    "TPU v5e": (1, 197e12),
    "TPU v5": (2, 459e12),
    "TPU v5p": (2, 459e12),
    "TPU v6 lite": (1, 918e12),
    "TPU v6e": (1, 918e12),
    "TPU7x": (1, 1153e12),
}


def _host_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get_device_name(device: DeviceLike = None) -> str:
    """Return the kind of a device, such as ``"TPU v6e"``. Loads the plugin."""
    return _C.device_info(index_of(device))["kind"]


def get_device_properties(device: DeviceLike = None) -> DeviceProperties:
    """Return what is known of a device. Loads the plugin.

    Raises:
        RuntimeError: there is no such device.
    """
    index = index_of(device)
    info = _C.device_info(index)
    on_host = info["platform"].lower() in ("cpu", "host")
    cores, peak = _CHIPS.get(info["kind"], (_host_cores() if on_host else 1, None))
    try:
        memory = _C.memory_info(index)[1]
    except NotImplementedError:
        memory = 0
    return DeviceProperties(
        name=info["kind"],
        total_memory=memory,
        core_count=cores,
        peak_flops=peak,
        platform=info["platform"],
        plugin_path=info["plugin_path"],
        plugin_version=info["platform_version"],
        pjrt_version=info["pjrt_version"],
    )


# ---- streams ----


def synchronize(device: DeviceLike = None) -> None:
    """Wait for all work of a device.

    Raises:
        RuntimeError: work failed whose error nobody has seen yet.
    """
    _C.synchronize(index_of(device))


def current_stream(device: DeviceLike = None) -> torch.Stream:
    """Return this thread's current stream of a device."""
    return torch.accelerator.current_stream(torch.device("tpu", index_of(device)))


def default_stream(device: DeviceLike = None) -> torch.Stream:
    """Return the stream that a device starts with.

    A device has one ordered queue. Streams are names for it: work of any two runs in the order in
    which it was queued, so that waiting for an event never deadlocks and never changes a result.
    """
    place = torch.device("tpu", index_of(device))
    kind = torch._C._autograd.DeviceType.PrivateUse1
    return torch.Stream(stream_id=0, device_index=place.index, device_type=int(kind))


def set_stream(stream: torch.Stream | None) -> None:
    """Make ``stream`` this thread's current one, and its device the current device."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


class StreamContext:
    """See ``torch.tpu.stream``."""

    def __init__(self, stream: torch.Stream | None):
        self.stream = stream
        self._before: list[torch.Stream] = []

    def __enter__(self):
        if self.stream is not None:
            self._before = [current_stream(self.stream.device), current_stream()]
            set_stream(self.stream)
        return self.stream

    def __exit__(self, *error):
        for stream in self._before:
            set_stream(stream)
        return False


def stream(stream: torch.Stream | None) -> StreamContext:
    """Make a stream and its device the current ones for a ``with`` block; None changes nothing."""
    return StreamContext(stream)
