"""Every environment variable that the package's Python reads, and the only place that does.

The C core reads XLA_FLAGS, to leave alone what the user has set there, and MALLOC_* and
GLIBC_TUNABLES for the same reason; what it sets for a plugin stands in src/pjrt/known.c.
"""

import os
from typing import NamedTuple


class Variable(NamedTuple):
    """One row: where ``reader`` is not ours, we only list it."""

    name: str
    default: str
    meaning: str
    reader: str = "torch_tpu"


VARIABLES = (
    Variable(
        "TORCH_TPU_PLUGIN",
        "",
        "the plugin: a name (tpu, cpu, xla_cpu, cuda, neuron, ...) or a path; else "
        "TPU_LIBRARY_PATH, else tpu where one is attached, else cpu, the package's own",
    ),
    Variable("TPU_LIBRARY_PATH", "", "path of the plugin to open"),
    Variable(
        "TORCH_TPU_FALLBACK",
        "error",
        "what an operator does that the device lacks: error, or run on the host: warn or silent",
    ),
    Variable(
        "TORCH_TPU_LAUNCH_BLOCKING",
        "0",
        "1: start in EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING: wait after each operator, check "
        "bounds",
    ),
    Variable(
        "TORCH_TPU_ENABLE_DEBUG_CHECKS",
        "0",
        "1: as TORCH_TPU_LAUNCH_BLOCKING=1, and fail on the first NaN that an operator makes",
    ),
    Variable(
        "TORCH_TPU_DEFER_AND_FUSE",
        "0",
        "1: asks for EagerMode.DEFER_AND_FUSE, which is not built yet: warns and runs without it",
    ),
    Variable(
        "TORCH_TPU_CPU_DEVICES",
        "1",
        "how many devices a plugin on the host's CPU has",
    ),
    Variable(
        "TORCH_TPU_CACHE_DIR",
        "",
        "folder where compiled programs are kept for other processes, or off; empty: torch_tpu in "
        "the user's cache folder (XDG_CACHE_HOME); not used where another user may write",
    ),
    Variable("TORCH_TPU_DUMP", "", "folder: every program compiled is written there as text"),
    Variable("TORCH_DEVICE_BACKEND_AUTOLOAD", "1", "0: import torch does not load us", "torch"),
    Variable(
        "TT_CPU_DUMP", "", "folder: each pass over a program is written there", "the plugin cpu"
    ),
    Variable("TT_CPU_LAPACK", "", "file of a library with LAPACKE; off: none", "the plugin cpu"),
    Variable("TPU_VISIBLE_CHIPS", "", "chips that this process may use", "libtpu"),
    Variable("LIBTPU_INIT_ARGS", "", "options of the TPU runtime", "libtpu"),
    Variable("XLA_FLAGS", "", "options of the XLA compiler", "XLA plugins"),
)

_ROWS = {variable.name: variable for variable in VARIABLES}


def get(name: str) -> str:
    """Return the value of a variable of the table, its default where it is not set or empty."""
    return os.environ.get(name, "") or _ROWS[name].default


def offer(name: str, value: str) -> None:
    """Set a variable of the table that a library reads, unless it is set."""
    os.environ.setdefault(_ROWS[name].name, value)


def flag(name: str) -> bool:
    """Return whether a variable of the table says yes."""
    return get(name).lower() in ("1", "true", "yes", "on")


def cache_folder() -> str:
    """Return the folder of the on-disk program cache, empty where it is switched off."""
    value = get("TORCH_TPU_CACHE_DIR")
    if value.lower() in ("off", "0"):
        return ""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.abspath(value) if value else os.path.join(home, "torch_tpu")


def count(name: str) -> int:
    """Return a variable of the table that must be a positive number.

    Raises:
        ValueError: it is none.
    """
    value = get(name)
    if not value.isdecimal() or not 0 < int(value) < 128:
        raise ValueError(f"{name}={value}: expected a positive number below 128")
    return int(value)


def choice(name: str, values: tuple[str, ...]) -> str:
    """Return a variable of the table that must be one of ``values``.

    Raises:
        ValueError: it is none of them.
    """
    value = get(name).lower()
    if value not in values:
        raise ValueError(f"{name}={value}: expected one of {', '.join(values)}")
    return value
