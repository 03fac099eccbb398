"""Dtypes: in and out of the device, conversions, type promotion; what autocast makes of them."""

import itertools

import pytest
import torch
from torch import nn

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
COMPLEX = (torch.complex64, torch.complex128)
WIDE = (torch.uint16, torch.uint32, torch.uint64)
FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)
COMMON = (torch.bool, *INTS, *FLOATS, *COMPLEX)


def numbers(dtype, shape=(3, 5)):
    torch.manual_seed(0)
    if dtype.is_floating_point or dtype.is_complex:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        return (torch.randn(shape, dtype=wide) * 3).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 100, shape).to(dtype)


@pytest.mark.parametrize("dtype", (*COMMON, *WIDE, *FLOAT8), ids=str)
def test_round_trip(device, dtype):
    x = numbers(dtype)
    y = x.to(device)
    assert y.dtype == dtype and torch.equal(y.cpu().view(torch.uint8), x.view(torch.uint8))
    assert torch.equal(
        y.clone()[1:].t().cpu().contiguous().view(torch.uint8),
        x[1:].t().contiguous().view(torch.uint8),
    )
    z = torch.empty(2, dtype=dtype, device=device)
    assert z.dtype == dtype and z.element_size() == x.element_size()


@pytest.mark.parametrize("dtype", COMMON, ids=str)
def test_conversions(device, dtype):
    x = numbers(dtype)
    if not dtype.is_floating_point and dtype not in (torch.bool, torch.uint8):
        x = x * (1 - 2 * (torch.arange(x.numel()).view_as(x) % 2)).to(dtype)
    y = x.to(device)
    for other in COMMON:
        if dtype.is_complex and not other.is_complex:
            continue  # drops the imaginary part with a warning
        # a negative float as uint8 is undefined in C
        a, b = (x.abs(), y.abs()) if other == torch.uint8 and dtype in FLOATS else (x, y)
        want = a.to(other)
        assert torch.equal(b.to(other).cpu(), want), f"{dtype} to {other}"


def test_conversion_of_what_is_not_finite(device):
    x = torch.tensor([float("inf"), -float("inf"), float("nan"), 1e30, -0.0, 1e-30])
    y = x.to(device)
    for dtype in FLOATS:
        want = x.to(dtype)
        got = y.to(dtype).cpu()
        assert torch.equal(got.isnan(), want.isnan()) and torch.equal(
            torch.signbit(got[:2]), torch.signbit(want[:2])
        )
        assert torch.equal(got[~want.isnan()], want[~want.isnan()]), dtype
    assert y.bool().tolist() == [True, True, True, True, False, True]
    assert y.isnan().tolist() == [False, False, True, False, False, False]


def test_integers_wrap(device):
    for dtype in INTS:
        top = torch.full((2,), torch.iinfo(dtype).max, dtype=dtype)
        for call in (lambda x: x + 1, lambda x: x * 2, lambda x: -x, lambda x: x + x):
            assert torch.equal(call(top.to(device)).cpu(), call(top)), dtype


def test_large_integers_are_exact(device):
    x = torch.tensor([2**63 - 1, -(2**63), 2**53 + 1, -1])
    assert x.to(device).tolist() == x.tolist()
    assert (x.to(device) - 1).tolist() == (x - 1).tolist()
    assert (x.to(device) // 3).tolist() == (x // 3).tolist()
    assert x.to(device)[2].item() == 2**53 + 1
    assert torch.tensor(2**63 - 1, device=device).item() == 2**63 - 1


PAIRS = [p for p in itertools.combinations_with_replacement(COMMON, 2)]


@pytest.mark.parametrize("a, b", PAIRS[::2], ids=lambda d: str(d).removeprefix("torch."))
def test_promotion(device, a, b):
    x, y = numbers(a), numbers(b)
    got, want = x.to(device) * y.to(device), x * y
    assert got.dtype == want.dtype
    rtol = {torch.bfloat16: 1.6e-2, torch.float16: 2e-3}.get(want.dtype, 1e-5)
    torch.testing.assert_close(got.cpu(), want, rtol=rtol, atol=1e-5)
    if (want := (x + y[0, 0]).dtype) != torch.complex32:  # which the device lacks
        assert (x.to(device) + y[0, 0].to(device)).dtype == want  # a tensor of rank 0
    for number in (True, 2, 2.5, 1j):
        if (want := (x * number).dtype) != torch.complex32:
            assert (x.to(device) * number).dtype == want


def test_default_dtype(device):
    torch.set_default_dtype(torch.float64)
    try:
        for call in (
            lambda d: torch.ones(2, device=d),
            lambda d: torch.arange(3, device=d) / 2,
            lambda d: torch.arange(3, device=d).sqrt(),
            lambda d: torch.arange(3, device=d) * 1.5,
            lambda d: torch.tensor([1.0], device=d),
        ):
            assert call(device).dtype == call("cpu").dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert (torch.arange(3, device=device) / 2).dtype == torch.float32


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_float8(device, dtype):
    x = torch.linspace(-4, 4, 17)
    got, want = x.to(device).to(dtype), x.to(dtype)
    assert torch.equal(got.cpu().view(torch.uint8), want.view(torch.uint8))
    assert torch.equal(got.float().cpu(), want.float())


# ---- autocast ----


def test_autocast_computes_what_the_lower_dtype_gives(device):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4))
    x = torch.randn(8, 16)
    want = model(x)
    model.to(device)
    for dtype, tolerance in ((torch.bfloat16, 3e-2), (torch.float16, 5e-3)):
        with torch.autocast("tpu", dtype=dtype):
            got = model(x.to(device))
        assert got.dtype == dtype
        torch.testing.assert_close(got.float().cpu(), want, rtol=tolerance, atol=tolerance)


def test_autocast_is_off_inside_custom_functions(device):
    class Double(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="tpu", cast_inputs=torch.float32)
        def forward(ctx, x):
            return x @ x

        @staticmethod
        @torch.amp.custom_bwd(device_type="tpu")
        def backward(ctx, grad):
            return grad

    with torch.autocast("tpu"):
        x = torch.eye(3, device=device)
        assert (x @ x).dtype == torch.bfloat16
        assert Double.apply(x).dtype == torch.float32


def test_grad_scaler(device):
    torch.manual_seed(0)
    model = nn.Linear(4, 1).to(device)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("tpu", init_scale=2.0**10)
    x = torch.randn(8, 4, device=device)
    before = model.weight.detach().clone()
    for factor in (1.0, float("inf"), 1.0):
        opt.zero_grad()
        with torch.autocast("tpu", dtype=torch.float16):
            loss = model(x).float().square().mean() * factor
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    assert scaler.get_scale() == 2.0**9  # halved once, by the step that was not finite
    assert model.weight.isfinite().all().item() and not torch.equal(model.weight, before)
