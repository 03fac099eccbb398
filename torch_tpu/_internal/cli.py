"""The command line: what is installed, whether it works, what can be set."""

import argparse
import contextlib
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable

import torch

import torch_tpu
from torch_tpu import _C
from torch_tpu._internal import env, plugin

_PLUGIN_PACKAGES = {"tpu": "libtpu", "xla_cpu": "xla-cpu-pjrt"}

_TINY = """
import torch, torch_tpu
x = torch.arange(4, dtype=torch.float32, device="tpu")
assert (x + 1).cpu().tolist() == [1, 2, 3, 4], (x + 1).cpu()
print(torch.tpu.device_count(), torch.tpu.get_device_name(0), sep="\\t")
"""


def _package_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


# ---- env ----


def show_env() -> int:
    """List every environment variable with its value, default and meaning."""
    for variable in env.VARIABLES:
        value = os.environ.get(variable.name)
        default = variable.default or "empty"
        print(f"{variable.name}={value}" if value is not None else f"{variable.name} (not set)")
        reader = "" if variable.reader == "torch_tpu" else f"; read by {variable.reader}"
        takes = "" if variable.kind is env.TEXT else f"; takes {variable.kind.expected}"
        print(f"    {variable.meaning}{takes}; default: {default}{reader}")
    return 0


# ---- info ----


def _print_rows(rows: list[tuple[str, object]]) -> None:
    for name, value in rows:
        print(f"{name:<10} {value}")


def show_info() -> int:
    """Print versions, the plugin and its devices."""
    choice = plugin.choose()
    _print_rows(
        [
            ("torch_tpu", torch_tpu.__version__),
            ("torch", torch.__version__),
            ("python", platform.python_version()),
            ("plugin", f"{choice.plugin} ({choice.reason})"),
        ]
    )
    try:
        _C.open()
    except RuntimeError as error:
        print(f"it cannot be opened: {error}\nrun: python -m torch_tpu doctor")
        return 1
    info = _C.device_info(0)
    major, minor = info["pjrt_version"]
    rows: list[tuple[str, object]] = [
        ("file", info["plugin_path"]),
        ("version", f"{info['platform_version']}, PJRT {major}.{minor}"),
    ]
    for i in range(torch.tpu.device_count()):
        p = torch.tpu.get_device_properties(i)
        rows.append(
            (f"tpu:{i}", f"{p.name}, {p.total_memory / 2**30:.1f} GiB, {p.core_count} cores")
        )
    _print_rows(rows)
    return 0


# ---- doctor ----


class Problem(Exception):
    """What a check found, and what to do about it."""

    def __init__(self, what: str, remedy: str):
        super().__init__(what)
        self.remedy = remedy


def _check_versions() -> str:
    return (
        f"torch_tpu {torch_tpu.__version__} on torch {torch.__version__}, "
        f"python {platform.python_version()}"
    )


def _check_environment() -> str:
    if problems := env.problems():
        raise Problem("; ".join(problems), "python -m torch_tpu env says what each takes")
    names = [v.name for v in env.VARIABLES if v.name in os.environ]
    text = f"set: {', '.join(names)}" if names else "none is set"
    unknown = env.unknown()
    return text + (f"; set, but not known: {', '.join(unknown)}" if unknown else "")


def _check_registered() -> str:
    name = torch._C._get_privateuse1_backend_name()
    if name != "tpu":
        raise Problem(
            f"PyTorch's extension device is {name!r}", "import torch_tpu before the other backend"
        )
    return "device tpu and module torch.tpu"


def _check_plugin_file() -> str:
    choice = plugin.choose()
    try:
        return f"{plugin.path()} ({choice.reason})"
    except RuntimeError as error:
        package = _PLUGIN_PACKAGES.get(choice.plugin)
        remedy = f"pip install {package}" if package else "set TORCH_TPU_PLUGIN to a name or a path"
        raise Problem(str(error), remedy) from error


def _check_tiny_program() -> str:
    """In a process of its own: a plugin may crash, hang, or hold a lock that we then keep."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _TINY], capture_output=True, text=True, timeout=300, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Problem(
            "a small program did not end within 300 s",
            "see whether another process holds the device",
        ) from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Problem(
            lines[-1], "try TORCH_TPU_PLUGIN=xla_cpu: if that works, the plugin is at fault"
        )
    count, name = done.stdout.strip().splitlines()[-1].split("\t")
    return f"{count} device(s), {name}: x + 1 is right"


def _check_packages() -> str:
    return ", ".join(f"{p} {_package_version(p)}" for p in ("xla-cpu-pjrt", "libtpu"))


_CHECKS: list[tuple[str, Callable[[], str]]] = [
    ("versions", _check_versions),
    ("variables", _check_environment),
    ("registered", _check_registered),
    ("packages", _check_packages),
    ("plugin", _check_plugin_file),
    ("runs", _check_tiny_program),
]


def doctor() -> int:
    """Check the installation step by step; stop at the first that fails and say what to do."""
    for name, check in _CHECKS:
        try:
            print(f"ok    {name:<11}{check()}")
        except Problem as problem:
            print(f"FAIL  {name:<11}{problem}\n      to do: {problem.remedy}")
            return 1
    print("all is well")
    return 0


_COMMANDS = {"info": show_info, "doctor": doctor, "env": show_env}


# ---- cache ----


def _cached_files() -> list[os.DirEntry[str]]:
    folder = env.cache_folder()
    if not os.path.isdir(folder):
        return []
    with os.scandir(folder) as entries:
        return [e for e in entries if re.fullmatch(r"[0-9a-f]{32}\.exe", e.name) and e.is_file()]


def list_cache() -> int:
    """Say where compiled programs are kept, how many there are and how large they are."""
    files = _cached_files()
    size = sum(entry.stat().st_size for entry in files)
    _print_rows(
        [
            ("folder", env.cache_folder() or "off"),
            ("programs", len(files)),
            ("size", f"{size / 2**20:.1f} MiB"),
        ]
    )
    return 0


def clear_cache() -> int:
    """Delete the compiled programs that are kept on disk."""
    files = _cached_files()
    for entry in files:
        with contextlib.suppress(FileNotFoundError):  # another process may have been quicker
            os.unlink(entry.path)
    print(f"deleted {len(files)} programs")
    return 0


_CACHE = {"ls": list_cache, "clear": clear_cache}


def main(argv: list[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m torch_tpu", description="PyTorch's device tpu")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function in _COMMANDS.items():
        commands.add_parser(name, help=(function.__doc__ or "").splitlines()[0])
    cache = commands.add_parser("cache", help="The compiled programs that are kept on disk.")
    cache.add_argument("action", choices=tuple(_CACHE))
    arguments = parser.parse_args(argv)
    if arguments.command == "cache":
        return _CACHE[arguments.action]()
    return _COMMANDS[arguments.command]()
