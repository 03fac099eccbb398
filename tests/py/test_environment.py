"""Values that an environment variable does not take are named, by one rule for all rows."""

import itertools

import pytest

from torch_tpu._internal import env

USE = """
import warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import torch, torch_tpu
print([str(w.message) for w in seen])
print(torch.ones(2).sum().item())
for use in (lambda: torch.ones(2, device="tpu"), torch.accelerator.device_count):
    try:
        use()
    except RuntimeError as error:
        print("refused:", error)
"""


@pytest.mark.parametrize("value", ["abc", "-1"])
def test_values_that_are_not_taken(python, value):
    rows = [v for v in env.VARIABLES if v.kind is not env.TEXT]
    warned, host, first, second = python(USE, **{v.name: value for v in rows}).strip().splitlines()
    assert host == "2.0"
    for line, row in itertools.product((warned, first, second), rows):
        assert f"{row.name}={value}: expected {row.kind.expected}" in line
    assert first.startswith("refused") and second.startswith("refused")


def test_every_row_of_ours_that_is_not_free_text_has_a_kind():
    free = {v.name for v in env.VARIABLES if v.reader == "torch_tpu" and v.kind is env.TEXT}
    assert free == {
        "TORCH_TPU_PLUGIN",
        "TPU_LIBRARY_PATH",
        "TORCH_TPU_CACHE_DIR",
        "TORCH_TPU_DUMP",
    }


def test_defaults_are_taken():
    assert all(v.kind.takes(v.default) for v in env.VARIABLES)


@pytest.mark.parametrize("value", ["1", "0", "true", "False", "ON", "off", "yes", "no", ""])
def test_flags(monkeypatch, value):
    monkeypatch.setenv("TORCH_TPU_LAUNCH_BLOCKING", value)
    assert env.problems() == []
    assert env.flag("TORCH_TPU_LAUNCH_BLOCKING") == (value.lower() in ("1", "true", "on", "yes"))


def test_several_problems_are_all_named(monkeypatch):
    monkeypatch.setenv("TORCH_TPU_LAUNCH_BLOCKING", "abc")
    monkeypatch.setenv("TORCH_TPU_CPU_DEVICES", "x")
    assert len(env.problems()) == 2


CACHE = """
import warnings
import torch, torch_tpu
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    x = torch.ones(2, device="tpu") + 1
    x + 1
    print(x.sum().item())
print([str(w.message) for w in seen])
"""


def test_a_cache_folder_that_cannot_be_made(python, tmp_path):
    file = tmp_path / "file"
    file.touch()
    result, warned = python(CACHE, TORCH_TPU_CACHE_DIR=str(file / "cache")).strip().splitlines()
    assert result == "4.0"
    assert warned.count("TORCH_TPU_CACHE_DIR") == 1 and str(file / "cache") in warned


def test_a_cache_folder_nobody_asked_for(python, tmp_path):
    (tmp_path / "torch_tpu").touch()
    text = python(CACHE, TORCH_TPU_CACHE_DIR="", XDG_CACHE_HOME=str(tmp_path))
    assert text.strip().splitlines() == ["4.0", "[]"]


def test_doctor_names_what_it_does_not_know(monkeypatch):
    from torch_tpu._internal import cli

    monkeypatch.setenv("TORCH_TPU_LAUNCH_BLOKING", "1")
    assert "not known: TORCH_TPU_LAUNCH_BLOKING" in cli._check_environment()
    monkeypatch.setenv("TORCH_TPU_DEFER_AND_FUSE", "maybe")
    with pytest.raises(cli.Problem, match="TORCH_TPU_DEFER_AND_FUSE=maybe"):
        cli._check_environment()
