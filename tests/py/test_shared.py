"""What threads share: storages, the generator, and numbers that became parameters."""

import threading

import pytest
import torch


def test_a_storage_in_two_threads(device):
    w = torch.tensor([3.0], device=device)
    stop = threading.Event()

    def negate():
        while not stop.is_set():
            torch.neg(w)

    other = threading.Thread(target=negate)
    other.start()
    try:
        for i in range(12):
            x = torch.full((1, i + 1), 5.0)
            for op in (torch.logaddexp, torch.atan2, torch.hypot, torch.sub):
                got = op(x.to(device), w).cpu()
                torch.testing.assert_close(got, op(x, torch.tensor([3.0])))
    finally:
        stop.set()
        other.join()


def test_seeding_beside_the_first_call(device):
    stop = threading.Event()

    def seed():
        while not stop.is_set():
            torch.manual_seed(3)

    other = threading.Thread(target=seed)
    other.start()
    try:
        for i in range(1, 6):
            out = torch.nn.functional.dropout(torch.ones(i, 17, device=device))
            assert set(out.cpu().flatten().tolist()) <= {0.0, 2.0}
    finally:
        stop.set()
        other.join()


# ---- numbers keep their digits when they become parameters ----

NUMBERS = [
    lambda v, d: torch.full((2,), v, dtype=torch.float64, device=d),
    lambda v, d: torch.full((2,), v, dtype=torch.complex128, device=d),
    lambda v, d: torch.linspace(0, v, 5, dtype=torch.float64, device=d),
    lambda v, d: torch.where(
        torch.tensor([True, False], device=d), v, torch.ones(2, device=d).double()
    ),
    lambda v, d: torch.ones(2, dtype=torch.float64, device=d).fill_(v),
    lambda v, d: torch.zeros(2, dtype=torch.int64, device=d).fill_(v * 1234567890.0),
    lambda v, d: torch.zeros(2, dtype=torch.int64, device=d).masked_fill(
        torch.tensor([True, False], device=d), v * 1234567890.0
    ),
]


@pytest.mark.parametrize("make", NUMBERS)
def test_digits(device, make):
    for value in (0.1, 0.2, 0.3):
        assert torch.equal(make(value, device).cpu(), make(value, "cpu"))


def test_digits_of_an_integer_tensor(device):
    torch.set_default_dtype(torch.float64)
    try:
        for value in (0.1, 0.2, 0.3):
            assert torch.equal(
                (torch.arange(4, device=device) * value).cpu(), torch.arange(4) * value
            )
    finally:
        torch.set_default_dtype(torch.float32)


# ---- copies, sizes, bounds ----


def test_copy_to_a_conjugated_tensor(device):
    target = torch.zeros(2, dtype=torch.complex64).conj()
    target.copy_(torch.tensor([1 + 2j, 3 + 4j], device=device))
    assert target.tolist() == [1 + 2j, 3 + 4j]


def test_copy_of_nothing_does_not_fit(device):
    for source, target in ((device, device), (device, "cpu"), ("cpu", device)):
        with pytest.raises(RuntimeError, match="expand|size"):
            torch.zeros(3, device=target).copy_(torch.empty(0, device=source))
        torch.empty(0, device=target).copy_(torch.zeros(1, device=source))


def test_resize_overflow(device):
    x = torch.zeros(4, device=device)
    with pytest.raises(RuntimeError, match="overflow"):
        x.resize_(2**62)
    assert x.shape == (4,)


def test_a_failed_check_writes_nothing(device):
    before = torch.tpu.eager_mode
    torch.tpu.eager_mode = torch.tpu.EagerMode.DEBUG
    try:
        z = torch.zeros(4, device=device)
        with pytest.raises(IndexError):
            z.index_fill_(0, torch.tensor([1, 9], device=device), 7.0)
        with pytest.raises(IndexError):
            z[torch.tensor([2, 9], device=device)] = 5
        assert z.tolist() == [0, 0, 0, 0]
        z.index_fill_(0, torch.tensor([1, 3], device=device), 7.0)
        assert z.tolist() == [0, 7, 0, 7]
    finally:
        torch.tpu.eager_mode = before


@pytest.mark.parametrize("kw", [{}, {"alpha": 0.6}, {"beta": 0.2}, {"alpha": 0.6, "beta": 0.2}])
def test_scaled_products(device, kw):
    g = torch.Generator().manual_seed(0)
    c, a, b = (torch.randn(n, generator=g) for n in ((3,), (4, 2, 3), (4, 3, 3)))
    there = [t.to(device) for t in (c, a, b)]
    for op, pick in ((torch.addmm, lambda x: x[0]), (torch.baddbmm, lambda x: x)):
        wanted = op(c, pick(a), pick(b), **kw)
        torch.testing.assert_close(op(there[0], pick(there[1]), pick(there[2]), **kw).cpu(), wanted)


def test_bad_number_of_devices(python):
    for value in ("abc", "0", "200"):
        python(
            """
            import torch, torch_tpu, pytest
            torch.ones(2).sum()
            with pytest.raises(RuntimeError, match="TORCH_TPU_CPU_DEVICES"):
                torch.ones(2, device="tpu")
            assert not torch.tpu.is_available()
            with pytest.raises(RuntimeError, match="TORCH_TPU_CPU_DEVICES"):
                torch.tpu.device_count()
            """,
            TORCH_TPU_PLUGIN="cpu",
            TORCH_TPU_CPU_DEVICES=value,
        )


# ---- integers ----


def test_large_integer_exponents(device):
    for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
        x = torch.tensor([0, 1, 2, 3, 7], dtype=dtype)
        y = torch.tensor([64, 65, 70, 100, 127], dtype=dtype)
        assert torch.equal(torch.pow(x.to(device), y.to(device)).cpu(), torch.pow(x, y))
        assert torch.equal(torch.pow(x.to(device), 70).cpu(), torch.pow(x, 70))
        assert torch.equal(torch.pow(2, y.to(device)).cpu(), torch.pow(2, y))


def test_diagonals_beyond_any_matrix(device):
    x = torch.ones(2, 2, device=device)
    for diagonal in (2**31, 2**40, -(2**31), -(2**40)):
        assert torch.equal(x.tril(diagonal).cpu(), x.cpu().tril(diagonal))
        assert torch.equal(x.triu(diagonal).cpu(), x.cpu().triu(diagonal))


@pytest.mark.parametrize("op", [torch.var, torch.std])
def test_no_variance_of_integers(device, op):
    with pytest.raises(RuntimeError, match="floating point"):
        op(torch.zeros(0, 2, dtype=torch.int64, device=device), dim=0)
