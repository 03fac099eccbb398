"""Which line of the user's program runs now, for messages of the Debug mode."""

import os
import sys
from types import FrameType

import torch

import torch_tpu

_OURS = tuple(os.path.dirname(m.__file__) + os.sep for m in (torch, torch_tpu))


def _is_users(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    return not name.startswith(_OURS) and not name.startswith("<frozen")


def current() -> str:
    """Return ``"train.py:12 in step"`` for the innermost frame outside of torch and this package.

    Empty where there is none.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _is_users(frame):
        frame = frame.f_back
    if frame is None:
        return ""
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
