"""Lets safetensors load straight to a tpu device.

``safetensors.safe_open`` knows a fixed list of devices. It is wrapped when safetensors is imported,
so that a tpu device opens the file on the host and moves each tensor as it is asked for: what the
file holds is mapped, not read, and only one tensor at a time is on the host.
"""

import importlib.abc
import importlib.util
import sys
from types import ModuleType
from typing import Any

import torch


def _tpu_device(device: Any) -> torch.device | None:
    """Return what ``device`` names if that is a tpu device."""
    if isinstance(device, str) and device.split(":")[0] == "tpu":
        return torch.device(device)
    return device if isinstance(device, torch.device) and device.type == "tpu" else None


class _Slice:
    """A tensor of the file, of which parts can be asked for."""

    def __init__(self, inner: Any, device: torch.device):
        self._inner = inner
        self._device = device

    def __getitem__(self, index: Any) -> torch.Tensor:
        return self._inner[index].to(self._device)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _File:
    """An open file whose tensors go to a tpu device."""

    def __init__(self, inner: Any, device: torch.device):
        self._inner = inner
        self._device = device

    def __enter__(self) -> "_File":
        self._inner.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._inner.__exit__(*error)

    def get_tensor(self, name: str) -> torch.Tensor:
        return self._inner.get_tensor(name).to(self._device)

    def get_tensors(self, *args: Any, **kwargs: Any) -> Any:
        found = self._inner.get_tensors(*args, **kwargs)
        if isinstance(found, dict):
            return {name: tensor.to(self._device) for name, tensor in found.items()}
        return [tensor.to(self._device) for tensor in found]

    def get_slice(self, name: str) -> _Slice:
        return _Slice(self._inner.get_slice(name), self._device)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _wrap(module: ModuleType) -> None:
    original = module.safe_open

    class safe_open:  # noqa: N801  (the name that is replaced)
        __doc__ = original.__doc__

        def __new__(cls, filename: Any, framework: str, device: Any = "cpu", **kwargs: Any) -> Any:
            target = _tpu_device(device)
            if target is None:
                return original(filename, framework, device, **kwargs)
            return _File(original(filename, framework, "cpu", **kwargs), target)

    module.safe_open = safe_open


class _Finder(importlib.abc.MetaPathFinder):
    """Wraps ``safe_open`` as soon as safetensors is imported, once."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "safetensors":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _wrap(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Wrap ``safe_open`` now, or when safetensors is imported."""
    if "safetensors" not in sys.modules:
        sys.meta_path.insert(0, _Finder())
        return
    _wrap(sys.modules["safetensors"])
    if "safetensors.torch" in sys.modules:
        sys.modules["safetensors.torch"].safe_open = sys.modules["safetensors"].safe_open
