"""Failures of the device while a program runs, made on demand by tests/c/runtime/faulty."""

import os
from pathlib import Path

import pytest
from conftest import ROOT

NAME = "tests/c/runtime/faulty/xla_cpu_pjrt.so"
PLUGIN = Path(os.environ.get("TT_TEST_FAULTY", "") or ROOT / "build" / NAME)

pytestmark = pytest.mark.skipif(not PLUGIN.exists(), reason=f"not built: {PLUGIN}")

BEGIN = """
    import ctypes, os, torch, torch_tpu
    library = ctypes.CDLL(os.environ["TORCH_TPU_PLUGIN"])
    def fail(what, code, after=1):
        library.tt_faulty_fail(what.encode(), code, after)
    x = torch.ones(3, device="tpu")
    torch.tpu.synchronize()
    def raised(call):
        try:
            call()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return "nothing"
"""


@pytest.fixture
def faulty(python):
    def run(code):
        return python(BEGIN + code, TORCH_TPU_PLUGIN=str(PLUGIN)).strip().splitlines()

    return run


def test_out_of_memory(faulty):
    lines = faulty(
        """
    fail("execute", 8)
    print(raised(lambda: x + 1).replace("\\n", " "))
    fail("upload", 8)
    print(raised(lambda: torch.ones(4).to("tpu")).replace("\\n", " "))
    print((x + 1).tolist())
    """
    )
    assert lines[0].startswith("OutOfMemoryError") and "aten::add.Tensor" in lines[0]
    assert lines[1].startswith("OutOfMemoryError") and lines[2] == "[2.0, 2.0, 2.0]"


def test_a_failed_in_place_op_changes_nothing(faulty):
    lines = faulty(
        """
    fail("execute", 13)
    print(raised(lambda: x.mul_(5)))
    print(x.tolist())
    """
    )
    assert lines[0].startswith("RuntimeError: ") and "aten::mul.Tensor" in lines[0]
    assert lines[1] == "[1.0, 1.0, 1.0]"


def test_a_failed_compilation_is_not_remembered(faulty):
    lines = faulty(
        """
    fail("compile", 13)
    print(raised(lambda: x.tanh()))
    print(raised(lambda: x.tanh()))
    """
    )
    assert lines[0].startswith("RuntimeError: ") and "aten::tanh" in lines[0]
    assert "compile" in lines[0] and lines[1] == "nothing"


def test_use_after_an_asynchronous_failure(faulty):
    lines = faulty(
        """
    fail("run", 13)
    y = x + 1               # handed over: no error yet
    z = y * 2               # neither here
    print(raised(lambda: y.tolist()))
    print(raised(lambda: z.cpu()))
    print(raised(lambda: z.sum().item()))
    print(raised(torch.tpu.synchronize))
    print((x + 1).tolist(), raised(torch.tpu.synchronize))
    """
    )
    assert lines[0].startswith("RuntimeError: aten::add.Tensor: ") and "fault on demand" in lines[0]
    assert all(line.startswith("RuntimeError") and "fault" in line for line in lines[1:3])
    assert lines[4] == "[2.0, 2.0, 2.0] nothing"


def test_synchronize_raises_what_nobody_saw(faulty):
    lines = faulty(
        """
    fail("run", 13)
    y = x.exp()
    print(raised(torch.tpu.synchronize))
    print(raised(torch.tpu.synchronize))
    """
    )
    assert "aten::exp" in lines[0] and lines[1] == "nothing"


def test_debug_mode_raises_at_once(faulty):
    lines = faulty(
        """
    torch.tpu.eager_mode = torch.tpu.EagerMode.DEBUG
    fail("run", 13)
    print(raised(lambda: x + 1))
    print((x + 1).tolist())
    """
    )
    assert "aten::add.Tensor" in lines[0] and "<string>" in lines[0]
    assert lines[1] == "[2.0, 2.0, 2.0]"


def test_a_training_step_fails_and_the_next_one_works(faulty):
    lines = faulty(
        """
    model = torch.nn.Linear(3, 3).to("tpu")
    opt = torch.optim.SGD(model.parameters(), 0.1)
    def step():
        opt.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        opt.step()
        return loss.item()
    step()
    fail("execute", 8, 4)
    print(raised(step)[:16])
    print(raised(step))
    """
    )
    assert lines == ["OutOfMemoryError", "nothing"]
