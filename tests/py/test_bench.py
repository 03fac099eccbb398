"""The measurements run and say what they must."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """One quick run of the two smallest cases."""
    out = tmp_path_factory.mktemp("bench")
    done = subprocess.run(
        [sys.executable, ROOT / "bench/run.py", "--quick", "--only", "ops,mlp", "--out", out],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (path,) = out.glob("bench-*.json")
    return json.loads(path.read_text()), done.stdout


def test_every_row_has_a_ratio(result):
    found, _ = result
    rows = [row for case in found["cases"].values() for row in case["rows"]]
    assert {row["figure"] for row in rows} >= {"op adds", "op mixed", "op in-place", "mlp step"}
    assert all(row["by cpu"] > 0 and row["cpu time by cpu"] > 0 for row in rows)


def test_losses_are_compared(result):
    found, _ = result
    (row,) = found["cases"]["mlp"]["losses"]
    assert row["ours"] < 1e-5


def test_table_and_load(result):
    found, text = result
    assert "ours/CPU" in text
    assert "load average" in text
    assert all(len(case["load"]) >= 2 for case in found["cases"].values())


def test_ratio_is_the_median_of_ratios():
    import report

    rounds = [
        {"ours": {"x": {"wall": ours}}, "cpu": {"x": {"wall": cpu}}}
        for ours, cpu in ((2.0, 1.0), (30.0, 10.0), (8.0, 1.0))
    ]
    assert report.ratio(rounds, "x", "cpu", "wall") == 3.0
    assert report.ratio(rounds, "x", "official", "wall") is None
