"""PyTorch on every accelerator that ships a PJRT plugin, as the device ``tpu``.

Importing this package registers the device and the module ``torch.tpu``; it loads no plugin and
prints nothing. The plugin is opened by the first tensor that goes to the device. ``import torch``
imports this package by itself, unless ``TORCH_DEVICE_BACKEND_AUTOLOAD=0``.
"""

__version__ = "0.1.0"


def _autoload() -> None:
    """Do nothing: the entry point ``torch.backends`` calls it after importing this package.

    It stands before ``import torch`` because that import calls it when this package comes first.
    """


from torch_tpu._internal import register as _register  # noqa: E402

_register.register()

from torch_tpu import tpu  # noqa: E402

__all__ = ["tpu"]
