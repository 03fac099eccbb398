"""A sample of tests/conformance/differential: random programs here and on XLA's CPU backend."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("jax") is None:
    pytest.skip("jax is not installed", allow_module_level=True)

PACKAGE = Path(__file__).parents[1]
RUN = PACKAGE.parents[1] / "tests" / "conformance" / "differential" / "run.py"
SAMPLE = 100


def plugin() -> Path:
    code = "import jax_tt_cpu; print(jax_tt_cpu.library_path() or '')"
    # The installed package before the source, which has no library.
    for cwd in ("/", PACKAGE):
        command = [sys.executable, "-c", code]
        path = subprocess.run(command, cwd=cwd, capture_output=True, text=True).stdout.strip()
        if path:
            return Path(path)
    pytest.skip("no plugin: install the package, or set TT_CPU_LIBRARY")


@pytest.mark.skipif(not RUN.exists(), reason="not in a checkout")
def test_random_programs_agree_with_xla() -> None:
    command = [sys.executable, str(RUN), f"--plugin={plugin()}", f"--count={SAMPLE}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
