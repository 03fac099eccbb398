"""What has been compiled, and what has run elsewhere."""

from torch_tpu import _C
from torch_tpu._internal import decompose


def compilation_stats() -> dict[str, int | float]:
    """Return what compilation has cost since the start.

    Returns:
        ``programs`` compiled, ``promoted_scalars`` (numbers that became run-time parameters
        because their value kept changing), ``executions``, and seconds: ``compile_seconds`` in the
        plugin, ``lower_seconds`` in making StableHLO, ``meta_seconds`` in PyTorch's meta kernels.
    """
    stats = _C.stats()
    return {
        "programs": stats["programs"],
        "promoted_scalars": stats["promoted"],
        "executions": stats["executions"],
        "compile_seconds": stats["compile_ns"] * 1e-9,
        "lower_seconds": stats["lower_ns"] * 1e-9,
        "meta_seconds": stats["meta_ns"] * 1e-9,
    }


def cache_stats() -> dict[str, dict[str, int]]:
    """Return, for each tier of the program cache, its entries, hits and misses.

    Returns:
        ``{"memory": {"entries": ..., "hits": ..., "misses": ...}, "disk": {"hits": ..., "misses":
        ...}}``. A miss in memory that is a hit on disk costs about a millisecond.
    """
    stats = _C.stats()
    memory = {"entries": stats["programs_cached"], "hits": stats["hits"], "misses": stats["misses"]}
    disk = {"hits": stats["loaded"], "misses": stats["programs"]}
    return {"memory": memory, "disk": disk}


def clear_cache() -> None:
    """Forget all compiled programs: the next call of each operator compiles again."""
    _C.clear_cache()


def fallbacks() -> dict[str, int]:
    """Return how often each overload ran on the host because the device lacks it.

    Only ``TORCH_TPU_FALLBACK=warn`` or ``silent`` lets that happen.
    """
    return dict(decompose.host_calls)
