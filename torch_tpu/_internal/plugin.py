"""Which PJRT plugin the process uses, and where plugins are looked for."""

import glob
import importlib.util
import os
import sys
import sysconfig
import warnings
from pathlib import Path
from typing import NamedTuple

from torch_tpu import _C
from torch_tpu._internal import env

# PCI ids of Google's TPUs (v2 and v3, v4, v5p, v5e, v6e, 7x); its network cards share the vendor.
_GOOGLE = "0x1ae0"
_TPUS = {"0x0027", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}


class Choice(NamedTuple):
    """A plugin and what made it the one."""

    plugin: str
    reason: str


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def tpu_is_attached() -> bool:
    """Return whether this machine has a TPU, without touching it."""
    if glob.glob("/dev/accel[0-9]*"):
        return True
    if not glob.glob("/dev/vfio/[0-9]*"):
        return False
    devices = Path("/sys/bus/pci/devices").glob("*")
    return any(_read(d / "vendor") == _GOOGLE and _read(d / "device") in _TPUS for d in devices)


def choose() -> Choice:
    """Return the plugin that the environment and the machine ask for."""
    for name in ("TORCH_TPU_PLUGIN", "TPU_LIBRARY_PATH"):
        if value := env.get(name):
            is_file = "/" not in value and name == "TPU_LIBRARY_PATH"
            return Choice(os.path.abspath(value) if is_file else value, name)
    if tpu_is_attached():
        return Choice("tpu", "a TPU is attached")
    return Choice("cpu", "no accelerator is attached")


def folders() -> list[str]:
    """Return the folders in which a plugin is looked for by name."""
    return [path for path in dict.fromkeys(map(os.path.abspath, sys.path)) if os.path.isdir(path)]


def _devices(plugin: str) -> int:
    """Return how many devices to ask for, 0 where the machine has as many as it has."""
    return env.count("TORCH_TPU_CPU_DEVICES") if _C.devices_can_be_chosen(plugin) else 0


def _offer_lapack() -> None:
    """Let our own plugin find the LAPACK of scipy-openblas32, where that is installed."""
    spec = importlib.util.find_spec("scipy_openblas32")  # does not import it
    if spec is None or spec.origin is None:
        return
    library = Path(spec.origin).parent / "lib" / "libscipy_openblas.so"
    if library.is_file():
        env.offer("TT_CPU_LAPACK", str(library))


def _offer_onednn() -> None:
    """Let our own plugin find the oneDNN of onednn-cpu-gomp, where that is installed."""
    library = Path(sysconfig.get_path("data")) / "lib" / "libdnnl.so.3"
    if library.is_file():
        env.offer("TT_CPU_ONEDNN", str(library))


def configure() -> None:
    """Tell the extension which plugin to open when one is needed."""
    plugin = choose().plugin
    if plugin == "cpu":
        _offer_lapack()
        _offer_onednn()
    if problems := env.problems():  # programs that do not use the device must not fail
        text = "; ".join(problems)
        warnings.warn(f"tpu: {text}. The device cannot be used", stacklevel=2)
        _C.configure("", [], 0, "", problem=text)
        return
    asked = env.cache_is_asked_for()
    _C.configure(plugin, folders(), _devices(plugin), env.cache_folder(), cache_asked=asked)


def check_environment() -> None:
    """Raise what is wrong with the environment that the process began with.

    Raises:
        RuntimeError: a variable has a value that it does not take.
    """
    if problem := _C.problem():
        raise RuntimeError(f"tpu: {problem}")


def path() -> str:
    """Return the file of the chosen plugin.

    Raises:
        RuntimeError: there is none.
    """
    return _C.find_plugin(choose().plugin, folders())
