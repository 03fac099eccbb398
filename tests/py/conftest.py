"""What the Python tests share."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

# Tests count what is compiled: nothing may come from an earlier run. Read when torch is imported.
os.environ["TORCH_TPU_CACHE_DIR"] = "off"

import torch  # noqa: E402

import torch_tpu  # noqa: E402, F401

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def device() -> torch.device:
    """The device under test."""
    return torch.device("tpu")


def run_python(code: str, *args: str, **environment: str) -> subprocess.CompletedProcess:
    """Run ``code`` in an interpreter of its own; a variable given as "" is removed."""
    env = {k: v for k, v in {**os.environ, **environment}.items() if v != ""}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [env.get("PYTHONPATH", ""), str(ROOT)]))
    command = [sys.executable, "-c", textwrap.dedent(code), *args]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture
def python():
    """``run_python``, which also fails the test unless the program ends well."""

    def run(code: str, *args: str, **environment: str) -> str:
        done = run_python(code, *args, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
