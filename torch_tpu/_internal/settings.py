"""How operators run: eager modes and the precision of matrix products."""

import contextlib
import enum
import functools
import warnings
from collections.abc import Iterator

import torch

from torch_tpu import _C
from torch_tpu._internal import env


class EagerMode(enum.Enum):
    """How an operator outside of ``torch.compile`` runs.

    ``DEFER_NEVER`` (also ``STRICT``), the default: each operator is handed to the device when it is
    called, and the host does not wait for it. An error of the device is raised at the first use of
    a result.

    ``DEFER_NEVER_AND_LAUNCH_BLOCKING`` (also ``DEBUG``): the host waits after each operator, index
    bounds are checked, and an error names the Python line that called the operator.

    ``DEFER_AND_FUSE``: operators are collected and compiled together. Not built yet.
    """

    DEFER_NEVER = 0
    DEFER_NEVER_AND_LAUNCH_BLOCKING = 1
    DEFER_AND_FUSE = 2
    STRICT = 0
    DEBUG = 1


class Precision(enum.Enum):
    """Precision of float32 matrix products and convolutions.

    On a TPU ``DEFAULT`` multiplies in bfloat16, ``HIGH`` in three passes of it, ``HIGHEST`` in
    float32. A CPU multiplies in float32 always.
    Source: StableHLO's ``precision_config``.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


def get_eager_mode() -> EagerMode:
    """Return the mode that operators run in."""
    return EagerMode(_C.mode())


def put_eager_mode(mode: EagerMode) -> None:
    """Switch to ``mode``, after all work in flight has ended.

    Raises:
        TypeError: ``mode`` is no EagerMode.
        NotImplementedError: ``mode`` is ``DEFER_AND_FUSE``.
        RuntimeError: work in flight failed; the mode is unchanged.
    """
    if not isinstance(mode, EagerMode):
        raise TypeError(f"eager_mode must be a torch.tpu.EagerMode, not {mode!r}")
    if mode is EagerMode.DEFER_AND_FUSE:
        raise NotImplementedError(
            "EagerMode.DEFER_AND_FUSE is not built yet: use EagerMode.DEFER_NEVER, the default"
        )
    _C.set_mode(mode.value)


@contextlib.contextmanager
def set_eager_mode(mode: EagerMode) -> Iterator[None]:
    """Run the operators of a ``with`` block in ``mode``, whichever thread calls them.

    Args:
        mode: as for ``torch.tpu.eager_mode``.
    Raises:
        TypeError, NotImplementedError, RuntimeError: as for ``torch.tpu.eager_mode``.
    """
    before = get_eager_mode()
    put_eager_mode(mode)
    try:
        yield
    finally:
        put_eager_mode(before)


@contextlib.contextmanager
def precision(mode: Precision) -> Iterator[None]:
    """Lower matrix products and convolutions of a ``with`` block with precision ``mode``.

    Outside of such a block ``torch.set_float32_matmul_precision`` decides: ``"medium"`` is
    ``DEFAULT``, ``"high"`` is ``HIGH``, ``"highest"`` (PyTorch's default) is ``HIGHEST``.

    Raises:
        TypeError: ``mode`` is no ``torch.tpu.Precision``.
    """
    if not isinstance(mode, Precision):
        raise TypeError(f"precision must be a torch.tpu.Precision, not {mode!r}")
    before = _C.precision()
    _C.set_precision(mode.value)
    try:
        yield
    finally:
        _C.set_precision(before)


_OF_TORCH = {"medium": Precision.DEFAULT, "high": Precision.HIGH, "highest": Precision.HIGHEST}


def follow_torch_precision() -> None:
    """Take over ``torch.set_float32_matmul_precision``, now and whenever it is called."""
    original = torch._C._set_float32_matmul_precision

    def take_over() -> None:
        _C.set_torch_precision(_OF_TORCH[torch._C._get_float32_matmul_precision()].value)

    @functools.wraps(original)
    def set_float32_matmul_precision(*args, **kwargs):
        original(*args, **kwargs)
        take_over()

    torch._C._set_float32_matmul_precision = set_float32_matmul_precision
    take_over()


def apply_environment() -> None:
    """Take over what the environment says of modes. Opens no plugin."""
    checks = env.flag("TORCH_TPU_ENABLE_DEBUG_CHECKS")
    if checks or env.flag("TORCH_TPU_LAUNCH_BLOCKING"):
        _C.set_mode(EagerMode.DEBUG.value)
    if checks:
        _C.set_check_nans(True)
    if env.flag("TORCH_TPU_DEFER_AND_FUSE"):
        warnings.warn(
            "TORCH_TPU_DEFER_AND_FUSE=1: EagerMode.DEFER_AND_FUSE is not built yet; operators run "
            "as in EagerMode.DEFER_NEVER",
            stacklevel=2,
        )
    if folder := env.get("TORCH_TPU_DUMP"):
        _C.set_dump(folder)
