"""Importing registers, prints nothing, costs little and loads no plugin."""

import pytest
from conftest import run_python

ENTRY_POINT = "[torch.backends]\ntorch_tpu_under_test = torch_tpu:_autoload\n"


@pytest.fixture
def installed(tmp_path):
    """A folder for PYTHONPATH in which the package's entry point is installed."""
    folder = tmp_path / "torch_tpu_under_test-0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch_tpu_under_test\nVersion: 0\n"
    )
    (folder / "entry_points.txt").write_text(ENTRY_POINT)
    return str(tmp_path)


def test_prints_nothing():
    done = run_python("import torch, torch_tpu")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_program_prints_nothing_of_ours():
    done = run_python(
        "import torch, torch_tpu; x = torch.ones(3, device='tpu'); print((x * 2).sum().item())"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "6.0\n", "")


def test_costs_little_and_loads_no_plugin(python):
    seconds, kib = python(
        """
        import resource, sys, time
        import torch
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        before, start, modules = peak(), time.process_time(), set(sys.modules)
        import torch_tpu
        print(time.process_time() - start, peak() - before)
        assert not torch.tpu.is_initialized()
        heavy = {"sympy", "torch._decomp", "torch._refs", "torch._dynamo", "torch._inductor"}
        assert not heavy & (set(sys.modules) - modules)
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    ).split()
    assert float(seconds) < 0.3
    assert int(kib) < 40 * 1024


@pytest.mark.parametrize("first", ["torch", "torch_tpu"])
def test_autoload(python, installed, first):
    code = f"import {first}, torch; print(torch.device('tpu'), torch.tpu.is_initialized())"
    assert python(code, PYTHONPATH=installed) == "tpu False\n"


def test_autoload_can_be_turned_off(python, installed):
    code = "import torch; print(hasattr(torch, 'tpu'))"
    off = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PYTHONPATH": installed}
    assert python(code, **off) == "False\n"


def test_a_second_import_changes_nothing(python):
    python(
        """
        import importlib, torch, torch_tpu
        module = torch.tpu
        torch_tpu._autoload()
        importlib.reload(torch_tpu)
        assert torch.tpu is module
        """
    )


def test_a_cpu_program_loads_no_plugin(python):
    """PyTorch's autograd engine asks each device how many there are; seeds go to all."""
    python(
        """
        import torch, torch_tpu
        torch.manual_seed(3)
        torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
        assert torch.tpu.is_available() and torch.tpu.device_count() == 1
        assert torch.tpu.initial_seed() == 3
        torch.tpu.synchronize()
        assert torch.tpu.memory_allocated() == 0 and torch.tpu.memory_stats() == {}
        torch.Event(device="tpu").record()
        assert not torch.tpu.is_initialized()
        """
    )


def test_operators_do_without_dynamo(python):
    """PyTorch's meta kernels would import it: 3 seconds before the first operator."""
    python(
        """
        import sys, torch, torch_tpu
        x = torch.ones(2, 4, device="tpu", requires_grad=True)
        y = torch.nn.functional.layer_norm(torch.relu(x + 1), (4,))
        y = torch.softmax(torch.rsqrt(y.abs() + 1) / 2, -1) @ x.T
        z = torch.arange(3, device="tpu").sum()
        (torch.where(y > 0, y, -y).clamp(0, 3).mean() + z).backward()
        assert "torch._dynamo" not in sys.modules
        """
    )


def test_dynamo_hides_the_meta_kernels_once_it_is_there(python):
    python(
        """
        import torch, torch_tpu, torch._dynamo
        div = torch._refs.true_divide
        assert (torch.ones(3, device="meta") / torch.ones(3, device="meta")).shape == (3,)
        f = torch.compile(lambda x: torch.sin(x) / 2, backend="eager", fullgraph=True)
        assert f(torch.zeros(3)).tolist() == [0, 0, 0]
        """
    )


# ---- plugins that cannot be used: an error that says so, and the process lives ----

BAD_PLUGIN = """
    import torch, torch_tpu
    print(torch.tpu.is_available(), torch.tpu.device_count())
    for _ in range(2):
        try:
            torch.ones(2, device="tpu")
        except RuntimeError as error:
            print(error)
    print(torch.ones(2).sum().item())
"""


@pytest.mark.parametrize(
    "plugin, words",
    [
        ("/no/such/plugin.so", ["/no/such/plugin.so", "No such file"]),
        ("flux", ["flux", "unknown name", "xla_cpu"]),
        ("rocm", ["rocm", "not installed"]),
    ],
)
def test_a_plugin_that_is_not_there(python, plugin, words):
    first, *errors, last = python(BAD_PLUGIN, TORCH_TPU_PLUGIN=plugin).splitlines()
    assert (first, last) == ("False 0", "2.0")
    assert len(errors) >= 2
    assert all(word in "\n".join(errors) for word in words)


def test_a_file_that_is_no_plugin(python, tmp_path):
    path = tmp_path / "plugin.so"
    path.write_bytes(b"not a library")
    _, *errors, last = python(
        BAD_PLUGIN, TPU_LIBRARY_PATH=str(path), TORCH_TPU_PLUGIN=""
    ).splitlines()
    assert last == "2.0" and str(path) in errors[0]


# ---- processes ----


def test_fork_after_use_is_refused(python):
    python(
        """
        import os, torch, torch_tpu
        x = torch.ones(3, device="tpu")
        child = os.fork()
        if child == 0:
            assert torch.tpu._is_in_bad_fork() and not torch.tpu.is_initialized()
            del x
            try:
                torch.ones(3, device="tpu")
            except RuntimeError as error:
                os._exit(0 if "forked subprocess" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert (x + 1).sum().item() == 6
        """
    )


def test_fork_before_use_works(python):
    python(
        """
        import os, torch, torch_tpu
        child = os.fork()
        if child == 0:
            os._exit(0 if torch.ones(3, device="tpu").sum().item() == 3 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """
    )


def test_data_loader_workers_after_use(python):
    python(
        """
        import torch, torch_tpu
        x = torch.ones(3, device="tpu")
        data = torch.utils.data.TensorDataset(torch.arange(8.0))
        loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, pin_memory=True)
        batches = [b.to("tpu", non_blocking=True).sum().item() for b, in loader]
        assert batches == [6.0, 22.0], batches
        """
    )
