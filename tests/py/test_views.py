"""Programs of views, in-place operators, out= and copies, made by hypothesis, against the CPU.

TT_EXAMPLES sets how many programs; the seed is fixed, so that a run repeats.
"""

import os
import warnings

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("TT_EXAMPLES", "40"))
DTYPES = (
    torch.float32,
    torch.float32,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
    torch.bfloat16,
    torch.complex64,
)
SAME_SIZE = {
    torch.float32: (torch.int32, torch.uint8, torch.int16),
    torch.int64: (torch.float64, torch.int32, torch.uint8),
    torch.int32: (torch.float32, torch.int64, torch.int8),
    torch.uint8: (torch.int8, torch.int16, torch.int32),
    torch.bfloat16: (torch.int16, torch.uint8),
}


def layout(x):
    return tuple(x.shape), x.stride(), x.storage_offset(), x.dtype


def same(a, b):
    """Say how two tensors differ to a program that may look at strides, too; else nothing."""
    if layout(a) != layout(b):
        return f"{layout(a)}, {layout(b)}"
    b = b.cpu()
    if not torch.equal(a, b) and not torch.allclose(a, b, equal_nan=True, rtol=1e-5, atol=1e-6):
        return f"{a}\n{b}"
    return ""


# ---- steps: each takes a tensor, a source of numbers, and a pool to take other operands from ----


def pick(n, count):
    """``n`` as an index into ``count`` things."""
    return n % count


def a_dim(x, n):
    return pick(n, x.dim())


def narrow(x, a, b):
    d = a_dim(x, a)
    start = pick(b, x.shape[d] + 1)
    return x.narrow(d, start, (a + b) % (x.shape[d] - start + 1))


def slice_step(x, a, b):
    d = a_dim(x, a)
    index = [slice(None)] * x.dim()
    index[d] = slice(b % 2, None, 1 + (a + b) % 3)
    return x[tuple(index)]


def unfold(x, a, b):
    d = a_dim(x, a)
    size = 1 + pick(b, max(x.shape[d], 1))
    return x.unfold(d, size, 1 + a % 2)


def strided(x, a, b):
    size = (1 + a % 3, 1 + b % 3)
    return x.as_strided(size, (1 + b % 4, a % 3), x.storage_offset())


VIEWS = {
    "select": lambda x, a, b: x.select(a_dim(x, a), pick(b, x.shape[a_dim(x, a)])),
    "narrow": narrow,
    "slice": slice_step,
    "transpose": lambda x, a, b: x.transpose(a_dim(x, a), a_dim(x, b)),
    "permute": lambda x, a, b: x.permute(tuple((i + a) % x.dim() for i in range(x.dim()))),
    "expand": lambda x, a, b: x.expand((1 + a % 3, *x.shape)),
    "expand 1": lambda x, a, b: x.narrow(a_dim(x, a), 0, 1).expand(
        [3 if i == a_dim(x, a) else n for i, n in enumerate(x.shape)]
    ),
    "unsqueeze": lambda x, a, b: x.unsqueeze(pick(a, x.dim() + 1)),
    "squeeze": lambda x, a, b: x.squeeze(),
    "flatten": lambda x, a, b: x.view(-1),
    "reshape": lambda x, a, b: x.reshape(-1),
    "split": lambda x, a, b: x.split(2, a_dim(x, a))[-1],
    "chunk": lambda x, a, b: x.chunk(2, a_dim(x, a))[0],
    "unbind": lambda x, a, b: x.unbind(a_dim(x, a))[-1],
    "diagonal": lambda x, a, b: x.diagonal(b % 3 - 1),
    "unfold": unfold,
    "as_strided": strided,
    "dtype": lambda x, a, b: x.view(SAME_SIZE[x.dtype][pick(a, len(SAME_SIZE[x.dtype]))]),
    "as real": lambda x, a, b: torch.view_as_real(x),
    "as complex": lambda x, a, b: torch.view_as_complex(x),
    "real": lambda x, a, b: x.real if b % 2 else x.imag,
    "detach": lambda x, a, b: x.detach(),
}
WRITES = {
    "add_": lambda x, y, a: x.add_(a),
    "add_ tensor": lambda x, y, a: x.add_(y),
    "mul_": lambda x, y, a: x.mul_(2),
    "fill_": lambda x, y, a: x.fill_(a % 7),
    "zero_": lambda x, y, a: x.zero_(),
    "copy_": lambda x, y, a: x.copy_(y),
    "neg_": lambda x, y, a: x.neg_(),
    "out=": lambda x, y, a: torch.add(x, 1, out=x),
    "out= of another": lambda x, y, a: torch.mul(y, 2, out=x),
    "set item": lambda x, y, a: x.__setitem__(0, a % 5),
    "resize": lambda x, y, a: torch.add(y, y, out=x.new_empty(0)),
    "masked_fill_": lambda x, y, a: x.masked_fill_(x != x.flatten()[0], 3),
    "transposed add_": lambda x, y, a: x.add_(x.t()),
}
COPIES = {
    "clone": lambda x, a, b: x.clone(),
    "contiguous": lambda x, a, b: x.contiguous(),
    "to": lambda x, a, b: x.to(DTYPES[pick(a, 5)]),
    "flip": lambda x, a, b: x.flip(a_dim(x, a)),
    "cat": lambda x, a, b: torch.cat([x, x], a_dim(x, a)),
    "roll": lambda x, a, b: x.roll(b, a_dim(x, a)),
    "sum": lambda x, a, b: x.sum(a_dim(x, a)),
    "repeat": lambda x, a, b: x.repeat(2, *[1] * x.dim()),
    "compare": lambda x, a, b: x == x.flip(0),
}
KINDS = {
    **dict.fromkeys(VIEWS, "view"),
    **dict.fromkeys(WRITES, "write"),
    **dict.fromkeys(COPIES, "copy"),
}


def apply(kind, name, pool, i, a, b):
    x = pool[pick(i, len(pool))]
    if kind == "view":
        return VIEWS[name](x, a, b)
    if kind == "copy":
        return COPIES[name](x, a, b)
    return WRITES[name](x, pool[pick(b, len(pool))], a)


def attempt(*args):
    try:
        return apply(*args), None
    except Exception as error:
        return None, error


def run(dtype, shape, steps, device):
    """Run the program on both; raise AssertionError where they differ."""
    count = torch.Size(shape).numel()
    start = (torch.arange(count) % 5).to(dtype).reshape(shape)
    pools = [start.clone()], [start.to(device)]
    text = f"x0 = {dtype} {list(shape)}\n"
    for kind, name, i, a, b in steps:
        n = len(pools[0])
        text += f"x{n} = {name}(x{pick(i, n)}, {a}, {b})  # b may be x{pick(b, n)}\n"
        (want, expected), (got, error) = (attempt(kind, name, pool, i, a, b) for pool in pools)
        if expected is not None:
            assert error is not None, f"{text}the CPU raises {expected!r}, the device does not"
            assert isinstance(error, (type(expected), RuntimeError, ValueError)), (
                f"{text}{expected!r}, {error!r}"
            )
            text = text[: text.rindex("\n", 0, -1) + 1]
            continue
        assert error is None, f"{text}{type(error).__name__}: {error}"
        if isinstance(want, torch.Tensor):
            pools[0].append(want)
            pools[1].append(got)
        if kind == "write" and pick(a, 3) != 0:
            continue  # look later: more steps between a write and its read
        for k, (x, y) in enumerate(zip(*pools, strict=True)):
            assert not (why := same(x, y)), f"{text}x{k}: {why}"
    for k, (x, y) in enumerate(zip(*pools, strict=True)):
        assert not (why := same(x, y)), f"{text}x{k}: {why}"


numbers = st.integers(0, 11)
step = st.sampled_from(sorted(KINDS)).flatmap(
    lambda name: st.tuples(st.just(KINDS[name]), st.just(name), numbers, numbers, numbers)
)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="TT_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    st.sampled_from(DTYPES),
    st.lists(st.integers(1, 4), min_size=0, max_size=3),
    st.lists(step, min_size=3, max_size=9),
)
def test_programs_of_views(dtype, shape, steps):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # resizing an out= tensor that is not empty
        run(dtype, shape, steps, torch.device("tpu"))


# ---- cases that random programs seldom meet ----


def test_dtype_views_share_memory(device):
    x = torch.arange(4.0, device=device)
    bits = x.view(torch.int32)
    bits[1] = 0
    assert x.tolist() == [0, 0, 2, 3]
    x.fill_(1)
    assert bits.tolist() == [0x3F800000] * 4
    assert x.view(torch.uint8).shape == (16,) and x.view(torch.float64).shape == (2,)
    half = x.view(torch.uint8)[:12].view(torch.int32)
    half += 1
    assert x.view(torch.int32).tolist() == [0x3F800001] * 3 + [0x3F800000]


def test_a_view_of_part_keeps_the_bytes_after_it(device):
    x = torch.arange(12, dtype=torch.uint8, device=device)
    x[:8].view(torch.int64).zero_()
    assert x.tolist() == [0] * 8 + [8, 9, 10, 11]


def test_complex_views(device):
    x = torch.zeros(3, dtype=torch.complex64, device=device)
    torch.view_as_real(x)[:, 1] = torch.arange(3.0, device=device)
    x.real.add_(1)
    assert x.tolist() == [1, 1 + 1j, 1 + 2j]
    y = torch.ones(2, 2, device=device)
    torch.view_as_complex(y).mul_(1j)
    assert y.tolist() == [[-1, 1], [-1, 1]]
    assert torch.equal(x.conj().cpu(), x.cpu().conj())
    assert torch.equal((x.conj() * 2).imag.cpu(), -2 * x.cpu().imag)
    x.conj().mul_(2)
    assert x.tolist() == [2, 2 + 2j, 2 + 4j]


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.expand(3, 4).add_(1),
        lambda x: x.expand(3, 4).copy_(torch.ones(3, 4, device=x.device)),
        lambda x: torch.add(x, 1, out=x.expand(3, 4)),
        lambda x: x.as_strided((2, 3), (0, 1)).mul_(2),
    ],
)
def test_writes_that_overlap_raise_as_on_the_cpu(device, write):
    x = torch.arange(4.0)
    for place in (x, x.to(device)):
        with pytest.raises(RuntimeError, match="single memory location"):
            write(place)
    assert x.to(device).tolist() == [0, 1, 2, 3]


def test_source_and_target_overlap(device):
    x = torch.arange(6.0, device=device)
    y = torch.arange(6.0)
    for place in (x, y):
        place[1:] = place[:-1].clone()
        place.view(2, 3).t()[0].add_(place[4:])
    assert torch.equal(x.cpu(), y)


def test_autograd_through_views(device):
    def loss(x):
        y = x * 1
        y[1:].mul_(2)
        y.view(2, 3).t()[0].copy_(torch.ones(2, device=x.device))
        y.diagonal_scatter(torch.ones(0, device=x.device)) if False else None
        return (y.unfold(0, 3, 1) ** 2).sum()

    grads = []
    for place in ("cpu", device):
        x = torch.arange(6.0, device=place, requires_grad=True)
        loss(x).backward()
        grads.append(x.grad.cpu())
    assert torch.equal(*grads)


def test_many_offsets_compile_twice_at_most(device):
    x = torch.arange(60.0, device=device).view(12, 5)
    (x[0] * 3).tolist()
    before = torch.tpu.compilation_stats()["programs"]
    for i in range(12):
        assert (x[i] * 3).tolist() == [15 * i + 3 * k for k in range(5)]
    assert torch.tpu.compilation_stats()["programs"] - before <= 2


def test_resize_and_set(device):
    for place in ("cpu", device):
        x = torch.arange(6.0, device=place)
        storage = x.untyped_storage()
        storage.resize_(32)
        assert x.tolist() == [0, 1, 2, 3, 4, 5]
        x.resize_(2, 2)
        assert x.tolist() == [[0, 1], [2, 3]]
        y = torch.empty(0, device=place).set_(x.untyped_storage(), 1, (2,), (2,))
        assert y.tolist() == [1, 3]
        y.add_(10)
        assert x.tolist() == [[0, 11], [2, 13]]
        storage.resize_(0)
        assert storage.nbytes() == 0
