"""``torch.tpu``: devices, modes, random numbers, memory and statistics of the device ``tpu``."""

import sys
import types

import torch

from torch_tpu import _C
from torch_tpu._internal import device as _device
from torch_tpu._internal import random as _random
from torch_tpu._internal import settings as _settings
from torch_tpu._internal.device import (
    current_device,
    current_stream,
    default_stream,
    device,
    device_count,
    device_of,
    get_device_name,
    get_device_properties,
    is_available,
    is_initialized,
    set_device,
    set_stream,
    stream,
    synchronize,
)
from torch_tpu._internal.memory import (
    empty_cache,
    max_memory_allocated,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_peak_memory_stats,
)
from torch_tpu._internal.mesh import topology_aware_mesh
from torch_tpu._internal.random import (
    get_rng_state,
    initial_seed,
    manual_seed,
    manual_seed_all,
    set_rng_state,
)
from torch_tpu._internal.settings import EagerMode, Precision, precision, set_eager_mode
from torch_tpu._internal.statistics import cache_stats, clear_cache, compilation_stats, fallbacks

Stream = torch.Stream
"""A name for the one ordered queue of a device; see ``default_stream``."""

Event = torch.Event
"""A point in a device's queue. ``record`` of one made with ``enable_timing=True`` waits for the
work before it: its time is when that was done. ``elapsed_time`` is in milliseconds."""

# What PyTorch asks of a device's module.
_is_in_bad_fork = _C.in_bad_fork
_lazy_init = _device.lazy_init
_exchange_device = _device.exchange_device
_maybe_exchange_device = _device.exchange_device

__all__ = [
    "EagerMode",
    "Event",
    "Precision",
    "Stream",
    "allow_excess_precision",  # noqa: F822  (a property of the module)
    "cache_stats",
    "clear_cache",
    "compilation_stats",
    "current_device",
    "current_stream",
    "default_generators",  # noqa: F822  (a property of the module)
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "eager_mode",  # noqa: F822  (a property of the module)
    "empty_cache",
    "fallbacks",
    "get_amp_supported_dtype",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "initial_seed",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "precision",
    "reset_peak_memory_stats",
    "set_device",
    "set_eager_mode",
    "set_rng_state",
    "set_stream",
    "stream",
    "synchronize",
    "topology_aware_mesh",
]


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Return the dtypes that ``torch.autocast("tpu", dtype=...)`` takes, its default first."""
    return [torch.bfloat16, torch.float16]


class _TpuModule(types.ModuleType):
    """The module's class: what can be read and assigned as an attribute of ``torch.tpu``."""

    def __dir__(self) -> list[str]:
        return list(__all__)

    @property
    def eager_mode(self) -> EagerMode:
        """The mode that operators run in. Assigning one waits for all work in flight first.

        Raises:
            TypeError: what is assigned is no EagerMode.
            NotImplementedError: it is ``EagerMode.DEFER_AND_FUSE``.
            RuntimeError: work in flight failed; the mode is unchanged.
        """
        return _settings.get_eager_mode()

    @eager_mode.setter
    def eager_mode(self, mode: EagerMode) -> None:
        _settings.put_eager_mode(mode)

    @property
    def allow_excess_precision(self) -> bool:
        """Whether programs may keep more digits than a dtype has between two of their operations.

        True at first: a value that is rounded to bfloat16 and widened again at once stays as it
        was. False rounds each time. Read when a program is compiled; plugins without XLA ignore it.
        Source: XLA's ``xla_allow_excess_precision``.

        Raises:
            TypeError: what is assigned is no bool.
        """
        return not _C.exact()

    @allow_excess_precision.setter
    def allow_excess_precision(self, allow: bool) -> None:
        if not isinstance(allow, bool):
            raise TypeError(f"allow_excess_precision must be a bool, not {allow!r}")
        _C.set_exact(not allow)

    @property
    def _initialized(self) -> bool:
        return _C.is_open()  # torch.utils.checkpoint keeps the generator's state only if so

    @property
    def default_generators(self) -> tuple[torch.Generator, ...]:
        """The default generator of each device, by index."""
        return _random.default_generators()


sys.modules[__name__].__class__ = _TpuModule
