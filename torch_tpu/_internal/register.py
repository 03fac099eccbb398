"""Registers the device with PyTorch, once a process."""

import atexit
from pathlib import Path

import torch

_BUILT_FOR = "2.13"


def _load_extension():
    """Import ``torch_tpu._C``, or say why it cannot be."""
    try:
        from torch_tpu import _C
    except ImportError as error:
        if not torch.__version__.startswith(_BUILT_FOR + "."):
            raise ImportError(
                f"torch_tpu is built for PyTorch {_BUILT_FOR}, this is {torch.__version__}: "
                f"install the torch_tpu for it, or torch=={_BUILT_FOR}.*"
            ) from error
        if not list(Path(__file__).parent.parent.glob("_C.*")):
            raise ImportError(
                f"{Path(__file__).parent.parent} has no built extension and comes before an "
                "installed torch_tpu: work in another folder, or make build"
            ) from error
        raise ImportError(
            f"torch_tpu's extension cannot be loaded ({error}); build it: pip install . (or make "
            "build) in its source tree"
        ) from error
    return _C


def register() -> None:
    """Make ``tpu`` a device of PyTorch and ``torch.tpu`` its module. A second call does nothing."""
    if hasattr(torch, "tpu"):
        return
    extension = _load_extension()
    torch.utils.rename_privateuse1_backend("tpu")

    from torch_tpu._internal import dlpack, meta_kernels, plugin, rnn, safetensors, settings

    plugin.configure()
    settings.apply_environment()
    settings.follow_torch_precision()
    from torch_tpu import tpu

    torch._register_device_module("tpu", tpu)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    dlpack.install()
    rnn.install()
    safetensors.install()
    meta_kernels.spare_dynamo()
    meta_kernels.mend()
    # Before the plugin's threads meet an interpreter that is gone.
    atexit.register(extension.shut_down)
