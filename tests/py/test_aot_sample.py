"""A sample of ``make aot`` (tests/conformance/test_aot.py), where libtpu is installed."""

import sys

import pytest
from conftest import ROOT, run_python

sys.path.insert(0, str(ROOT / "tests/conformance/aot"))

import programs

pytestmark = [
    pytest.mark.skipif(
        programs.library() is None, reason="libtpu is not installed: pip install libtpu"
    ),
    pytest.mark.skipif(not programs.TOOL.exists(), reason=f"not built: {programs.TOOL}"),
]

STEP = """
    import torch, torch_tpu
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 32), nn.LayerNorm(32), nn.Linear(32, 8)).to("tpu")
    opt = torch.optim.AdamW(model.parameters())
    x, y = torch.randn(16, 64, device="tpu"), torch.randint(8, (16,), device="tpu")
    for _ in range(2):
        opt.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
    x[3:5].t().add_(1)
"""


def test_a_training_step_compiles_for_a_tpu(tmp_path):
    folder = tmp_path / "programs"
    done = run_python(STEP, TORCH_TPU_DUMP=str(folder), TORCH_TPU_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    paths = sorted(folder.glob("*.mlir"))
    assert len(paths) > 15
    outcomes = programs.compile_all(paths)
    assert [o for o in outcomes if not o.ok] == []
