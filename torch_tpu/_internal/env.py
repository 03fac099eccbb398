"""Every environment variable that the package's Python reads, and the only place that does.

The C core reads XLA_FLAGS, to leave alone what the user has set there, and MALLOC_* and
GLIBC_TUNABLES for the same reason; what it sets for a plugin stands in src/pjrt/known.c.
"""

import os
from collections.abc import Callable
from typing import NamedTuple


class Kind(NamedTuple):
    """What values a variable takes: in words, and whether it takes one."""

    expected: str
    takes: Callable[[str], bool]


_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
TEXT = Kind("anything", lambda value: True)
FLAG = Kind("0 or 1 (false or true, no or yes, off or on)", lambda v: v.lower() in _TRUE + _FALSE)
COUNT = Kind("a positive number below 128", lambda v: v.isdecimal() and 0 < int(v) < 128)


def _one_of(*values: str) -> Kind:
    return Kind("one of " + ", ".join(values), lambda value: value.lower() in values)


class Variable(NamedTuple):
    """One row: where ``reader`` is not ours, we only list it."""

    name: str
    default: str
    meaning: str
    reader: str = "torch_tpu"
    kind: Kind = TEXT


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
        kind=_one_of("error", "warn", "silent"),
    ),
    Variable(
        "TORCH_TPU_LAUNCH_BLOCKING",
        "0",
        "1: start in EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING: wait after each operator, check "
        "bounds",
        kind=FLAG,
    ),
    Variable(
        "TORCH_TPU_ENABLE_DEBUG_CHECKS",
        "0",
        "1: as TORCH_TPU_LAUNCH_BLOCKING=1, and fail on the first NaN that an operator makes",
        kind=FLAG,
    ),
    Variable(
        "TORCH_TPU_DEFER_AND_FUSE",
        "0",
        "1: asks for EagerMode.DEFER_AND_FUSE, which is not built yet: warns and runs without it",
        kind=FLAG,
    ),
    Variable(
        "TORCH_TPU_CPU_DEVICES",
        "1",
        "how many devices a plugin on the host's CPU has",
        kind=COUNT,
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
    Variable(
        "TT_CPU_ISA",
        "",
        "base, avx2 or avx512: the most that compiled programs use; empty: what the processor has",
        "the plugin cpu",
    ),
    Variable("TT_CPU_LAPACK", "", "file of a library with LAPACKE; off: none", "the plugin cpu"),
    Variable("TT_CPU_ONEDNN", "", "file of oneDNN's library; off: none", "the plugin cpu"),
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


def _problem(variable: Variable, value: str) -> str:
    if variable.kind.takes(value or variable.default):
        return ""
    return f"{variable.name}={value}: expected {variable.kind.expected}"


def problems() -> list[str]:
    """Return what is wrong with the values of the variables that we read, naming each."""
    values = [(v, os.environ.get(v.name, "")) for v in VARIABLES if v.reader == "torch_tpu"]
    return [text for text in (_problem(*pair) for pair in values) if text]


def unknown() -> list[str]:
    """Return the variables of our prefix that are set and that nobody reads."""
    return sorted(n for n in os.environ if n.startswith("TORCH_TPU_") and n not in _ROWS)


def _checked(name: str) -> str:
    value = get(name)
    if problem := _problem(_ROWS[name], value):
        raise ValueError(problem)
    return value


def flag(name: str) -> bool:
    """Return whether a variable of the table says yes."""
    return get(name).lower() in _TRUE


def cache_folder() -> str:
    """Return the folder of the on-disk program cache, empty where it is switched off."""
    value = get("TORCH_TPU_CACHE_DIR")
    if value.lower() in ("off", "0"):
        return ""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.abspath(value) if value else os.path.join(home, "torch_tpu")


def cache_is_asked_for() -> bool:
    """Return whether the user has named the folder of the on-disk program cache."""
    return get("TORCH_TPU_CACHE_DIR") != ""


def count(name: str) -> int:
    """Return a variable of the table that is a number.

    Raises:
        ValueError: it is none of those that it takes.
    """
    return int(_checked(name))


def choice(name: str) -> str:
    """Return a variable of the table that is one of some words.

    Raises:
        ValueError: it is none of them.
    """
    return _checked(name).lower()
