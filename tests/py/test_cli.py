"""python -m torch_tpu, and the environment it lists."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from conftest import ROOT

from torch_tpu._internal import env, plugin


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "torch_tpu", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_env_lists_every_variable():
    done = command("env", TORCH_TPU_FALLBACK="warn")
    assert done.returncode == 0 and done.stderr == ""
    assert "TORCH_TPU_FALLBACK=warn" in done.stdout
    for variable in env.VARIABLES:
        assert variable.name in done.stdout and variable.meaning in done.stdout


def test_info_names_plugin_and_device():
    done = command("info")
    assert done.returncode == 0 and done.stderr == ""
    assert "tpu:0" in done.stdout and "PJRT" in done.stdout and "GiB" in done.stdout


def test_info_without_plugin_says_what_to_do():
    done = command("info", TORCH_TPU_PLUGIN="/no/such.so")
    assert done.returncode == 1
    assert "/no/such.so" in done.stdout and "doctor" in done.stdout


def test_doctor_is_content_here():
    done = command("doctor")
    assert done.returncode == 0, done.stdout
    assert "all is well" in done.stdout


def test_doctor_says_what_to_do():
    done = command("doctor", TORCH_TPU_PLUGIN="rocm")
    assert done.returncode == 1
    assert "FAIL" in done.stdout and "to do:" in done.stdout


def test_doctor_survives_a_plugin_that_does_not_load(tmp_path):
    path = tmp_path / "plugin.so"
    path.write_bytes(b"no library")
    done = command("doctor", TPU_LIBRARY_PATH=str(path), TORCH_TPU_PLUGIN="")
    assert done.returncode == 1
    assert "FAIL  runs" in done.stdout and str(path) in done.stdout


def test_unknown_command_is_an_error():
    assert command("dance").returncode == 2


def test_variables_are_read_in_one_place():
    reads = re.compile(r"os\.environ|getenv")
    readers = {
        path.name for path in (ROOT / "torch_tpu").rglob("*.py") if reads.search(path.read_text())
    }
    assert readers == {"env.py", "cli.py"}  # the command `env` shows what is set


# ---- the table ----


def test_get_and_flag(monkeypatch):
    monkeypatch.delenv("TORCH_TPU_FALLBACK", raising=False)
    assert env.get("TORCH_TPU_FALLBACK") == "error"
    for text, wanted in [("1", True), ("yes", True), ("0", False), ("", False)]:
        monkeypatch.setenv("TORCH_TPU_LAUNCH_BLOCKING", text)
        assert env.flag("TORCH_TPU_LAUNCH_BLOCKING") is wanted
    with pytest.raises(KeyError):
        env.get("TORCH_TPU_NO_SUCH")


def test_choice_names_what_is_expected(monkeypatch):
    monkeypatch.setenv("TORCH_TPU_FALLBACK", "maybe")
    with pytest.raises(ValueError, match="TORCH_TPU_FALLBACK=maybe: expected one of error, warn"):
        env.choice("TORCH_TPU_FALLBACK")


# ---- the choice of a plugin ----


@pytest.fixture
def no_variables(monkeypatch):
    for name in ("TORCH_TPU_PLUGIN", "TPU_LIBRARY_PATH", "TORCH_TPU_CPU_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_choice_without_accelerator(no_variables):
    no_variables.setattr(plugin, "tpu_is_attached", lambda: False)
    assert plugin.choose().plugin == "cpu"


def test_choice_with_tpu(no_variables):
    no_variables.setattr(plugin, "tpu_is_attached", lambda: True)
    assert plugin.choose().plugin == "tpu"


def test_variables_come_first(no_variables):
    no_variables.setenv("TPU_LIBRARY_PATH", "libtpu.so")
    assert plugin.choose() == (os.path.abspath("libtpu.so"), "TPU_LIBRARY_PATH")
    no_variables.setenv("TORCH_TPU_PLUGIN", "neuron")
    assert plugin.choose() == ("neuron", "TORCH_TPU_PLUGIN")


def test_lapack_is_offered(no_variables, tmp_path):
    library = tmp_path / "lib" / "libscipy_openblas.so"
    library.parent.mkdir()
    library.touch()
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    no_variables.setenv("TT_CPU_LAPACK", "off")
    no_variables.setattr(plugin.importlib.util, "find_spec", lambda name: spec)
    plugin._offer_lapack()
    assert os.environ["TT_CPU_LAPACK"] == "off"
    no_variables.delenv("TT_CPU_LAPACK")
    plugin._offer_lapack()
    assert os.environ["TT_CPU_LAPACK"] == str(library)
    no_variables.delenv("TT_CPU_LAPACK")
    library.unlink()
    plugin._offer_lapack()
    assert "TT_CPU_LAPACK" not in os.environ


def test_onednn_is_offered(no_variables, tmp_path):
    library = tmp_path / "lib" / "libdnnl.so.3"
    library.parent.mkdir()
    library.touch()
    no_variables.setattr(plugin.sysconfig, "get_path", lambda name: str(tmp_path))
    no_variables.setenv("TT_CPU_ONEDNN", "off")
    plugin._offer_onednn()
    assert os.environ["TT_CPU_ONEDNN"] == "off"
    no_variables.delenv("TT_CPU_ONEDNN")
    plugin._offer_onednn()
    assert os.environ["TT_CPU_ONEDNN"] == str(library)
    no_variables.delenv("TT_CPU_ONEDNN")
    library.unlink()
    plugin._offer_onednn()
    assert "TT_CPU_ONEDNN" not in os.environ


def test_number_of_devices(no_variables):
    for name in ("cpu", "xla_cpu"):
        no_variables.delenv("TORCH_TPU_CPU_DEVICES", raising=False)
        assert plugin._devices(name) == 1 and plugin._devices("tpu") == 0
        no_variables.setenv("TORCH_TPU_CPU_DEVICES", "4")
        assert plugin._devices(name) == 4
    for wrong in ("0", "-1", "many"):
        no_variables.setenv("TORCH_TPU_CPU_DEVICES", wrong)
        with pytest.raises(ValueError, match="TORCH_TPU_CPU_DEVICES=.*positive number"):
            plugin._devices("cpu")
