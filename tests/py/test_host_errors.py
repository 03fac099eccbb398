"""Errors that sizes, dtypes and numbers on the host decide: at the call, without the device."""

import math

import pytest
import torch
import torch.nn.functional as F


def _outcome(run, device):
    try:
        return run(torch.arange(1, 4, device=device)).tolist()
    except (RuntimeError, IndexError) as error:
        text = str(error).split("convert", 1)
        return type(error), text[0] if len(text) == 2 else str(error).split(":")[0]


def _assert_same(run, device, fails):
    want = _outcome(run, "cpu")
    assert isinstance(want, tuple) == fails
    assert _outcome(run, device) == want


NUMBERS = [
    (torch.int32, 2**40),
    (torch.int32, 2**31),
    (torch.int32, -(2**31) - 1),
    (torch.int64, math.nan),
    (torch.int64, 1e30),
    (torch.int32, math.inf),
    (torch.int8, 128),
    (torch.int8, 127.5),
    (torch.int8, -128.5),
    (torch.uint8, -1.0),
    (torch.uint8, 256),
    (torch.uint8, -256),
    (torch.float32, 1e300),
    (torch.float16, 1e6),
    (torch.bfloat16, 1e39),
    (torch.float32, 1 + 2j),
]
FITTING = [
    (torch.int32, 2**31 - 1),
    (torch.int32, -(2**31)),
    (torch.int64, 2**63 - 1),
    (torch.int64, -(2**63)),
    (torch.int8, -128),
    (torch.int8, 126.9),
    (torch.int8, -127.9),
    (torch.uint8, 255.0),
    (torch.uint8, -1),
    (torch.uint8, -255),
    (torch.bool, 7),
    (torch.float32, math.inf),
    (torch.float16, -math.inf),
    (torch.float32, 1e38),
    (torch.float16, 65504),
    (torch.float32, 1 + 0j),
]
FILLS = [
    lambda x, v: torch.full((2,), v, dtype=x.dtype, device=x.device),
    lambda x, v: torch.full_like(x, v),
    lambda x, v: x.new_full((2,), v),
    lambda x, v: x.clone().fill_(v),
    lambda x, v: x.masked_fill(x == 1, v),
    lambda x, v: F.pad(x, (1, 1), value=v),
    lambda x, v: x.index_fill(0, torch.tensor([0], device=x.device), v),
    lambda x, v: x.scatter(0, torch.tensor([0], device=x.device), v),
]


@pytest.mark.parametrize("fill", FILLS)
def test_numbers_out_of_range(device, fill):
    for dtype, number in NUMBERS:
        if isinstance(number, complex) and fill is not FILLS[3]:
            continue  # the others refuse complex numbers each in its own words
        _assert_same(lambda x, d=dtype, n=number: fill(x.to(d), n), device, True)


def test_numbers_within_range(device):
    for fill in FILLS[:4]:
        for dtype, number in FITTING:
            if not isinstance(number, complex) or fill is FILLS[3]:
                _assert_same(lambda x, d=dtype, n=number, f=fill: f(x.to(d), n), device, False)


def test_a_number_that_is_a_parameter_is_looked_at(device):
    x = torch.zeros(2, dtype=torch.int32, device=device)
    for number in (1, 2, 3):
        assert x.fill_(number).tolist() == [number] * 2
    with pytest.raises(RuntimeError, match="without overflow"):
        x.fill_(2**40)
    assert x.tolist() == [3, 3]


@pytest.mark.parametrize(
    "run",
    [
        lambda x: x // 0,
        lambda x: x % 0,
        lambda x: x // False,
        lambda x: torch.fmod(x, 0),
        lambda x: x.floor_divide_(0),
        lambda x: x.remainder_(0),
        lambda x: torch.div(x, 0, rounding_mode="trunc"),
        lambda x: torch.div(x, 0, rounding_mode="floor"),
        lambda x: x // torch.tensor(0),
        lambda x: torch.remainder(x, 0, out=torch.empty_like(x)),
        lambda x: x**-1,
        lambda x: x.pow_(-2),
        lambda x: x.to(torch.int8) ** -1,
        lambda x: x[:0].max(),
        lambda x: x[:0].min(),
        lambda x: x[:0].max(0).values,
        lambda x: x.new_empty(2, 0).min(1).values,
        lambda x: x.new_empty(2, 0).mode().values,
        lambda x: x.new_empty(2, 0).kthvalue(1).values,
        lambda x: x.float()[:0].multinomial(1),
        lambda x: x.float().multinomial(4),
        lambda x: F.cross_entropy(torch.ones(3, 4, device=x.device), x.int()),
        lambda x: F.nll_loss(torch.ones(3, 4, device=x.device), x.int()),
        lambda x: F.nll_loss(torch.ones(3, 4, 1, 1, device=x.device), x.view(3, 1, 1).short()),
        lambda x: torch.repeat_interleave(x, x - 2),
        lambda x: torch.bincount(x - 2),
        lambda x: torch.bincount(x, minlength=-1),
        lambda x: torch.bincount(x, x[:2]),
        lambda x: torch.bincount(x.view(3, 1)),
    ],
)
def test_what_the_cpu_refuses(device, run):
    _assert_same(run, device, True)
    _assert_same(run, device, True)


@pytest.mark.parametrize(
    "run",
    [
        lambda x: x / 0,
        lambda x: x.float() // 0,
        lambda x: x.float() % 0,
        lambda x: torch.div(x, 0),
        lambda x: x // 2,
        lambda x: x.float() ** -1,
        lambda x: x**0,
        lambda x: x**-1.0,
        lambda x: x.new_empty(0, 2).max(1).values,
        lambda x: x.new_empty(0, 2).sum(),
        lambda x: x.max(),
        lambda x: F.nll_loss(torch.ones(3, 4, device=x.device), x.to(torch.uint8)),
        lambda x: torch.where(x.to(torch.uint8), x, -x),
    ],
)
@pytest.mark.filterwarnings("ignore:where received a uint8")
def test_what_it_takes(device, run):
    want, got = (run(torch.arange(1, 4, device=d)).cpu() for d in ("cpu", device))
    torch.testing.assert_close(got, want, equal_nan=True)
