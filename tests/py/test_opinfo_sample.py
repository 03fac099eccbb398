"""A sample of tests/conformance/opinfo; ``make opinfo`` runs all of it."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(__file__).resolve().parents[1] / "conformance/opinfo"


def _run(*args):
    command = [sys.executable, str(SUITE / "run.py"), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)


@pytest.mark.parametrize("args", [("--stride=40",), ("--stride=60", "--grad")])
def test_sample(args):
    done = _run(*args)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def suite():
    spec = importlib.util.spec_from_file_location("opinfo_run", SUITE / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_verdicts(suite):
    assert suite.verdict("ok", known=False) == "ok"
    assert suite.verdict("wrong", known=False) == "FAILED"
    assert suite.verdict("crash", known=True) == "known"
    assert suite.verdict("ok", known=True) == "PASSES"
    assert suite.verdict("skipped", known=True) == "skipped"


def test_list_of_known_failures(suite, tmp_path):
    path = tmp_path / "known.txt"
    path.write_text("# a comment\n\nforward abs is hard\ngrad abs so is this\n")
    assert suite.known_failures(path, grad=False) == {"abs": "is hard"}
    assert suite.known_failures(path, grad=True) == {"abs": "so is this"}
    path.write_text("forward abs\n")
    with pytest.raises(SystemExit, match="expected `forward"):
        suite.known_failures(path, grad=False)


def test_a_listed_operator_that_passes_fails_the_run(tmp_path):
    path = tmp_path / "known.txt"
    path.write_text("forward abs no longer true\n")
    done = _run("--ops=^abs$", f"--known={path}")
    assert done.returncode == 1 and "PASSES   abs" in done.stdout
