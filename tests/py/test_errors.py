"""Wrong programs: each a clear error of the type that the CPU raises, and the process lives on."""

import textwrap
import warnings

import pytest
import torch
from torch import nn


def works(device):
    """Whether the device still computes."""
    return (torch.ones(3, device=device) + 1).tolist() == [2, 2, 2]


def error_of(call, *args):
    try:
        call(*args)
    except Exception as error:
        return error
    return None


# ---- the same type as on the CPU ----

WRONG = {
    "add shapes": lambda d: torch.ones(2, 3, device=d) + torch.ones(4, device=d),
    "add_ shape": lambda d: torch.ones(3, device=d).add_(torch.ones(2, 3, device=d)),
    "mm shapes": lambda d: torch.ones(2, 3, device=d) @ torch.ones(4, 5, device=d),
    "mm dtypes": lambda d: (
        torch.ones(2, 2, device=d) @ torch.ones(2, 2, device=d, dtype=torch.float64)
    ),
    "bmm rank": lambda d: torch.bmm(torch.ones(2, 2, device=d), torch.ones(2, 2, device=d)),
    "cat shapes": lambda d: torch.cat([torch.ones(2, 3, device=d), torch.ones(2, 4, device=d)]),
    "view size": lambda d: torch.ones(6, device=d).view(4),
    "view strides": lambda d: torch.ones(2, 3, device=d).t().view(6),
    "reshape": lambda d: torch.ones(6, device=d).reshape(4, 2),
    "expand": lambda d: torch.ones(2, device=d).expand(3),
    "select": lambda d: torch.ones(2, 3, device=d)[2],
    "index_put dtype": lambda d: torch.ones(3, device=d).index_put(
        (torch.tensor([0], device=d),), torch.ones(1, dtype=torch.float64, device=d)
    ),
    "layer_norm shape": lambda d: nn.functional.layer_norm(torch.ones(2, 3, device=d), (4,)),
    "attention of fewer heads": lambda d: nn.functional.scaled_dot_product_attention(
        *(torch.ones(1, heads, 3, 4, device=d) for heads in (4, 2, 2))
    ),
    "attention sizes": lambda d: nn.functional.scaled_dot_product_attention(
        *(torch.ones(1, 2, 3, size, device=d) for size in (4, 5, 5))
    ),
    "gelu of a kind": lambda d: nn.functional.gelu(torch.ones(2, device=d), approximate="half"),
    "matmul dtypes": lambda d: (
        torch.ones(2, 2, device=d) @ torch.ones(2, 2, dtype=torch.float64, device=d)
    ),
    "convolution stride": lambda d: torch.conv1d(
        torch.ones(1, 1, 3, device=d), torch.ones(1, 1, 2, device=d), stride=0
    ),
    "select_scatter sizes": lambda d: torch.ones(3, device=d).select_scatter(
        torch.ones(2, device=d), 0, 0
    ),
    "dim": lambda d: torch.ones(2, device=d).sum(1),
    "softmax dim": lambda d: torch.ones(2, device=d).softmax(3),
    "in-place integer division": lambda d: torch.ones(2, dtype=torch.int64, device=d).div_(2),
    "in-place result type": lambda d: torch.ones(2, dtype=torch.int32, device=d).add_(1.5),
    "out dtype": lambda d: torch.add(
        torch.ones(2, device=d), 1, out=torch.ones(2, dtype=torch.int8, device=d)
    ),
    "overlapping write": lambda d: torch.ones(1, device=d).expand(3).add_(1),
    "bitwise on floats": lambda d: torch.ones(2, device=d) & torch.ones(2, device=d),
    "index dtype": lambda d: torch.ones(2, device=d)[torch.ones(1, device=d)],
    "gather dtype": lambda d: torch.ones(2, device=d).gather(
        0, torch.ones(1, dtype=torch.float32, device=d)
    ),
    "embedding dtype": lambda d: nn.functional.embedding(
        torch.ones(1, device=d), torch.ones(3, 2, device=d)
    ),
    "conv channels": lambda d: nn.functional.conv2d(
        torch.ones(1, 3, 4, 4, device=d), torch.ones(2, 4, 3, 3, device=d)
    ),
    "linear": lambda d: nn.Linear(3, 2).to(d)(torch.ones(4, 5, device=d)),
    "item of many": lambda d: torch.ones(2, device=d).item(),
    "bool of many": lambda d: bool(torch.ones(2, device=d)),
    "leaf in-place": lambda d: torch.ones(2, device=d, requires_grad=True).add_(1),
    "backward of many": lambda d: torch.ones(2, device=d, requires_grad=True).mul(2).backward(),
    "cholesky": lambda d: torch.linalg.cholesky(-torch.eye(2, device=d)),
    "uniform bounds": lambda d: torch.ones(2, device=d).uniform_(2, 1),
    "arange": lambda d: torch.arange(3, 1, 1, device=d),
    "negative size": lambda d: torch.empty(-1, device=d),
}


# Errors of another type than the CPU's, or not seen: a run that finds them right fails.
NOT_YET = {
    "bitwise on floats": "a RuntimeError of the rule: PyTorch's meta kernel does not look",
    "uniform bounds": "taken: PyTorch's meta kernel does not look, and the bounds are parameters",
}


def _names():
    for name in WRONG:
        why = NOT_YET.get(name)
        marks = [pytest.mark.xfail(strict=True, reason=why)] if why else []
        yield pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", _names())
def test_wrong_programs_raise_what_the_cpu_raises(device, name):
    want, got = error_of(WRONG[name], "cpu"), error_of(WRONG[name], device)
    assert want is not None, "the CPU takes it: no case"
    assert type(got) is type(want), f"{got!r}, the CPU: {want!r}"
    assert str(got).strip()
    assert works(device)


def test_used_twice_in_backward(device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = x.exp().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_changed_before_backward(device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="inplace operation"):
        y.sum().backward()


def test_devices_are_not_mixed(device):
    x, y = torch.ones(2, 2, device=device), torch.ones(2, 2)
    for call in (
        lambda: x + y,
        lambda: y + x,
        lambda: x @ y,
        lambda: torch.cat([x, y]),
        lambda: x.add_(y),
    ):
        with pytest.raises(RuntimeError, match="same device.*tpu:0.*cpu|same device.*cpu.*tpu:0"):
            call()
    with pytest.raises(RuntimeError, match="device"):
        nn.Linear(2, 2)(x)
    assert (x + torch.tensor(2.0)).sum().item() == 12  # rank 0: a number


# ---- debug mode ----


@pytest.fixture
def debug():
    with torch.tpu.set_eager_mode(torch.tpu.EagerMode.DEBUG):
        yield


OUT_OF_RANGE = {
    "index": lambda x, i: x[i],
    "index_select": lambda x, i: x.index_select(0, i),
    "gather": lambda x, i: x.gather(0, i.unsqueeze(1)),
    "embedding": lambda x, i: nn.functional.embedding(i, x),
    "take": lambda x, i: x.take(i * 100),
    "scatter": lambda x, i: x.scatter(0, i.unsqueeze(1), 1.0),
    "index_add": lambda x, i: x.index_add(0, i, torch.ones(1, 3, device=x.device)),
    "index_put": lambda x, i: x.index_put((i,), x[0]),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_indices_are_checked_in_debug_mode(device, debug, name):
    x = torch.arange(12.0, device=device).view(4, 3)
    good, bad = torch.tensor([3], device=device), torch.tensor([7], device=device)
    if name != "take":
        OUT_OF_RANGE[name](x, good)
    with pytest.raises(IndexError, match=r"(?s)index.*test_errors\.py:\d+"):
        OUT_OF_RANGE[name](x, bad)
    assert works(device)


def test_classes_are_checked_in_debug_mode(device, debug):
    scores, target = torch.ones(2, 3, device=device), torch.tensor([0, 9], device=device)
    with pytest.raises(IndexError, match="(?i)target|class|index"):
        nn.functional.cross_entropy(scores, target)
    assert works(device)


def test_the_first_nan_is_found(python):
    text = python(
        """
        import torch, torch_tpu
        x = torch.zeros(3, device="tpu")
        x + 1
        try:
            x / x
        except RuntimeError as error:
            print(error)
        y = torch.tensor([float("nan")]).to("tpu")
        print((y + 1).isnan().item(), (x + 1).sum().item())
        """,
        TORCH_TPU_ENABLE_DEBUG_CHECKS="1",
    )
    first, last = text.strip().splitlines()
    assert "aten::div.Tensor" in first and "NaN" in first and "<string>:6" in first, first
    assert last == "True 3.0"


# ---- what the device lacks ----

UNKNOWN = """
    import warnings, torch, torch_tpu
    lib = torch.library.Library("tt_test", "DEF")
    lib.define("double(Tensor x) -> Tensor")
    lib.impl("double", lambda x: x * 2, "CPU")
    x = torch.ones(2, 3, device="tpu")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            y = torch.ops.tt_test.double(x)
            print(y.device, y.tolist(), len(seen), torch.tpu.fallbacks())
            torch.ops.tt_test.double(x)
            print(len(seen), torch.tpu.fallbacks())
        except NotImplementedError as error:
            print("refused:", error)
    print((x + 1).sum().item())
"""


def test_an_unknown_op_is_refused(python):
    first, last = python(UNKNOWN).strip().splitlines()
    assert first.startswith("refused: ") and last == "12.0"
    for part in ("tt_test.double", "float32[2, 3]", "TORCH_TPU_FALLBACK"):
        assert part in first


def test_the_host_may_run_it(python):
    for value, warned in (("warn", 1), ("silent", 0)):
        first, second, last = python(UNKNOWN, TORCH_TPU_FALLBACK=value).strip().splitlines()
        assert first == (
            f"tpu:0 [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]] {warned} {{'tt_test.double.default': 1}}"
        )
        assert second == f"{warned} {{'tt_test.double.default': 2}}" and last == "12.0"


def test_a_wrong_setting_is_named(python):
    code = UNKNOWN.replace("NotImplementedError", "ValueError")
    code = "import os, torch\nos.environ['TORCH_TPU_FALLBACK'] = 'maybe'\n" + textwrap.dedent(code)
    assert "TORCH_TPU_FALLBACK=maybe: expected one of error, warn, silent" in python(code)


def test_dtypes_that_the_device_lacks(device):
    with pytest.raises(NotImplementedError, match="dtype"):
        torch.empty(2, dtype=torch.complex32, device=device)
    with pytest.raises((NotImplementedError, RuntimeError)):
        torch.quantize_per_tensor(torch.ones(2, device=device), 0.1, 0, torch.qint8)
    with pytest.raises((NotImplementedError, RuntimeError)):
        torch.ones(2, device=device).to_sparse()
    assert works(device)


# ---- many threads raise ----


def test_errors_in_threads(device):
    from concurrent.futures import ThreadPoolExecutor

    def call(i):
        return type(
            error_of(lambda: torch.ones(2 + i % 3, device=device) + torch.ones(7, device=device))
        )

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(call, range(16))) == {RuntimeError}
    assert works(device)


def test_warnings_are_not_ours(device):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = torch.ones(2, 2, device=device, requires_grad=True)
        (x @ x).sum().backward()
        assert x.grad.sum().item() == 16
