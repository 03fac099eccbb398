"""Tensors leave the device and come back: files, pickles, copies, other libraries, text."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch
from torch import nn

DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
]


def sample(dtype: torch.dtype) -> torch.Tensor:
    return (torch.arange(12).reshape(3, 4) % 5 - 1).to(dtype)


def saved(value) -> io.BytesIO:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return buffer


# ---- torch.save and torch.load ----


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("source, location", [("tpu", None), ("tpu", "cpu"), ("cpu", "tpu")])
def test_save_and_load(dtype, source, location):
    x = sample(dtype)
    y = torch.load(saved(x.to(source)), map_location=location)
    assert y.device.type == (location or source)
    assert torch.equal(y.cpu(), x) and y.dtype == dtype


def test_load_keeps_views_and_sharing():
    x = torch.arange(12.0, device="tpu").reshape(3, 4)
    a, b = torch.load(saved([x.t(), x[1]]))
    assert a.stride() == (1, 4) and b.storage_offset() == 4
    a[0, 1] = 50
    assert b[0].item() == 50


def test_load_maps_to_the_index_asked_for(device):
    assert torch.load(saved(torch.ones(2)), map_location="tpu:0").device == torch.device("tpu:0")
    with pytest.raises(RuntimeError, match="deserialize object on TPU device 99"):
        torch.load(saved(torch.ones(2)), map_location="tpu:99")


def test_module_and_optimizer_state(device):
    model = nn.Linear(3, 2).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3, device=device)).sum().backward()
    optimizer.step()
    state = torch.load(saved([model.state_dict(), optimizer.state_dict()]), map_location="cpu")
    other = nn.Linear(3, 2)
    other.load_state_dict(state[0])
    assert torch.equal(other.weight, model.weight.cpu())
    again = torch.optim.Adam(model.parameters())
    again.load_state_dict(state[1])
    for moments in again.state.values():
        assert moments["exp_avg"].device.type == "tpu"


def test_safetensors_straight_to_the_device(tmp_path, device):
    safetensors = pytest.importorskip("safetensors.torch")
    tensors = {str(dtype): sample(dtype) for dtype in DTYPES if not dtype.is_complex}
    path = tmp_path / "x.safetensors"
    safetensors.save_file({k: v.to(device) for k, v in tensors.items()}, path)
    for where in ("cpu", "tpu", "tpu:0"):
        loaded = safetensors.load_file(path, device=where)
        for name, tensor in loaded.items():
            assert tensor.device.type == where[:3]
            assert torch.equal(tensor.cpu(), tensors[name])


def test_safetensors_opened_lazily(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    from safetensors.torch import save_file

    path = tmp_path / "x.safetensors"
    save_file({"x": torch.arange(12.0).reshape(3, 4)}, path, metadata={"made": "here"})
    with safetensors.safe_open(path, framework="pt", device="tpu") as file:
        assert list(file.keys()) == ["x"] and file.metadata() == {"made": "here"}
        assert file.get_tensor("x").is_tpu
        part = file.get_slice("x")
        assert part.get_shape() == [3, 4]
        assert part[1:, :2].is_tpu and part[1:, :2].tolist() == [[4, 5], [8, 9]]
    with safetensors.safe_open(path, framework="np") as file:
        assert file.get_tensor("x").shape == (3, 4)


def test_safetensors_imported_first(python, tmp_path):
    pytest.importorskip("safetensors")
    python(
        """
        import sys
        from safetensors.torch import load_file, save_file
        import safetensors.torch, torch, torch_tpu
        save_file({"x": torch.ones(2)}, sys.argv[1])
        assert safetensors.torch.load_file(sys.argv[1], device="tpu")["x"].is_tpu
        """,
        str(tmp_path / "x.safetensors"),
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


# ---- copies ----


def test_pickle(device):
    x = torch.arange(6.0, device=device).reshape(2, 3).t()
    y = pickle.loads(pickle.dumps(x))
    assert y.device.type == "tpu" and y.stride() == x.stride() and torch.equal(x.cpu(), y.cpu())


def test_deepcopy_shares_nothing(device):
    x = torch.arange(6.0, device=device, requires_grad=True)
    y = copy.deepcopy(x)
    with torch.no_grad():
        y += 1
    assert y.requires_grad and x[0].item() == 0 and y[0].item() == 1


def test_deepcopy_keeps_sharing_inside(device):
    x = torch.zeros(4, device=device)
    a, b = copy.deepcopy([x, x[1:]])
    a[1] = 7
    assert b[0].item() == 7 and x[1].item() == 0


def test_deepcopy_of_a_module(device):
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).to(device)
    twin = copy.deepcopy(model)
    for a, b in zip(model.state_dict().values(), twin.state_dict().values(), strict=True):
        assert b.device.type == "tpu" and torch.equal(a.cpu(), b.cpu())
        assert a.data_ptr() != b.data_ptr()


def test_storage_moves(device):
    storage = torch.arange(4, dtype=torch.uint8).untyped_storage()
    there = storage.tpu()
    assert there.is_tpu and there.device == torch.device("tpu:0") and there.nbytes() == 4
    assert there.cpu().tolist() == [0, 1, 2, 3]
    assert storage.to(device="tpu").cpu().tolist() == [0, 1, 2, 3]


def test_storage_resize(device):
    x = torch.arange(4.0, device=device)
    x.untyped_storage().resize_(0)
    assert x.untyped_storage().nbytes() == 0
    x.untyped_storage().resize_(16)
    assert x.untyped_storage().nbytes() == 16
    x.fill_(2)
    assert x.tolist() == [2] * 4


# ---- other libraries ----


def test_dlpack_exports_a_copy_on_the_host(device):
    x = torch.arange(6.0, device=device).reshape(2, 3)
    assert tuple(x.__dlpack_device__()) == (1, 0)
    array = np.from_dlpack(x.t())
    assert array.tolist() == [[0, 3], [1, 4], [2, 5]]
    here = torch.from_dlpack(x, device="cpu")
    assert here.device.type == "cpu"
    here[0, 0] = 9
    assert x[0, 0].item() == 0


def test_from_dlpack_of_a_tensor_stays_on_the_device(device):
    x = torch.arange(6.0, device=device).reshape(2, 3)
    for y in (torch.from_dlpack(x), torch.utils.dlpack.from_dlpack(x, device=device)):
        assert y.device == x.device
        y[0, 0] = 9
        assert x[0, 0].item() == 9
    z = torch.from_dlpack(x, copy=True)
    z[0, 0] = 1
    assert z.device == x.device and x[0, 0].item() == 9
    with pytest.raises(BufferError, match="require gradient"):
        torch.from_dlpack(x.requires_grad_())


def test_dlpack_imports_to_the_device(device):
    x = torch.from_dlpack(np.arange(4.0), device="tpu")
    assert x.device.type == "tpu" and x.tolist() == [0, 1, 2, 3]
    y = torch.from_dlpack(x, device=torch.device("tpu"))
    assert y.device.type == "tpu" and y.tolist() == [0, 1, 2, 3]


def test_dlpack_refusals(device):
    x = torch.ones(2, device=device)
    with pytest.raises(BufferError, match="without a copy"):
        x.__dlpack__(copy=False)
    with pytest.raises(BufferError, match="only to the CPU"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="detach"):
        x.requires_grad_().__dlpack__()


def test_dlpack_of_host_tensors_is_unchanged():
    x = torch.arange(3)
    assert np.from_dlpack(x).tolist() == [0, 1, 2]
    assert torch.from_dlpack(x).data_ptr() == x.data_ptr()


def test_numpy_needs_cpu(device):
    with pytest.raises(TypeError, match="cpu"):
        torch.ones(2, device=device).numpy()
    assert torch.ones(2, device=device).numpy(force=True).tolist() == [1, 1]


# ---- text ----


@pytest.mark.parametrize(
    "value",
    [
        torch.tensor(3),
        torch.tensor([1.5, -2.0, float("nan")]),
        torch.arange(6).reshape(2, 3),
        torch.tensor([True, False]),
        torch.tensor([1 + 2j]),
        torch.empty(0, 3),
        torch.arange(3000.0),
        torch.tensor([1e-8, 1e8]),
        torch.tensor([1.0, 2.0], dtype=torch.bfloat16),
    ],
    ids=lambda v: f"{v.dtype}{list(v.shape)}",
)
def test_text_is_that_of_the_cpu(value):
    wanted = repr(value)
    got = repr(value.to("tpu"))
    assert ", device='tpu:0'" in got
    strip = "".join(got.replace(", device='tpu:0'", "").split())
    assert strip == "".join(wanted.split())


def test_text_of_parameters_and_items(device):
    assert "requires_grad=True" in repr(nn.Parameter(torch.ones(2, device=device)))
    assert f"{torch.tensor(2.5, device=device):.2f}" == "2.50"
