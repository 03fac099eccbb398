"""Operands that share memory: as on the CPU, in value or in error."""

import pytest
import torch


def _outcome(run, device, size=6):
    x = torch.arange(1.0, size + 1, device=device)
    try:
        run(x)
    except RuntimeError as error:
        return str(error)
    return x.tolist()


def _assert_same(run, device, size=6):
    want = _outcome(run, "cpu", size)
    assert _outcome(run, device, size) == want
    assert _outcome(run, device, size) == want  # and from the cache


@pytest.mark.parametrize(
    "run",
    [
        lambda x: torch._foreach_add_([x, x], 1),
        lambda x: torch._foreach_add_([x, x[0], x[1:3], x], 1),
        lambda x: torch._foreach_mul_([x[0], x], [2.0, 3.0]),
        lambda x: torch._foreach_add_([x[:3], x[3:]], [x[3:], x[:3]]),
        lambda x: torch._foreach_mul_([x[:2], x[2:]], x[0].clone()),
        lambda x: torch._foreach_addcmul_([x, x], [x, x], [x, x], 0.5),
        lambda x: torch._foreach_lerp_([x, x], [x + 1, x + 2], 0.5),
        lambda x: torch._foreach_copy_([x[:2], x[2:4]], [x[4:], x[:2]]),
        lambda x: torch._foreach_zero_([x[1], x[1]]),
        lambda x: torch._foreach_neg_([x, x, x]),
        lambda x: torch._foreach_add_([x[::2], x[1::2]], 1),
        lambda x: torch._foreach_add_([x.view(2, 3), x.view(3, 2).t()], 1),
        lambda x: torch._foreach_sqrt_([x[:0], x, x]),
    ],
)
def test_foreach_with_shared_elements(device, run):
    _assert_same(run, device)


def test_foreach_with_offsets_that_move(device):
    """A program whose offsets are parameters must not serve tensors that overlap."""
    for i, k in [(0, 3), (1, 4), (2, 4), (3, 0), (2, 2), (2, 3), (4, 4)]:

        def run(x, i=i, k=k):
            torch._foreach_add_([x[i : i + 2], x[k : k + 2]], 1)

        _assert_same(run, device)


def test_foreach_of_a_flat_buffer_is_one_program(device):
    flat = torch.zeros(8, device=device)
    torch._foreach_add_(list(flat.split(2)), 1)
    torch.tpu.synchronize()
    before = torch.tpu.compilation_stats()["executions"]
    torch._foreach_add_(list(flat.split(2)), 1)
    assert torch.tpu.compilation_stats()["executions"] == before + 1
    assert flat.tolist() == [2.0] * 8


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_optimizers_with_a_parameter_twice(device, name):
    results = []
    for place in ("cpu", device):
        p = torch.nn.Parameter(torch.ones(3, device=place))
        with pytest.warns(UserWarning, match="duplicate"):
            optimizer = getattr(torch.optim, name)([p, p], lr=0.1, foreach=True)
        p.grad = torch.full_like(p, 0.5)
        optimizer.step()
        results.append(p.detach().cpu())
    torch.testing.assert_close(*results)


# ---- one operator ----


@pytest.mark.parametrize(
    "run",
    [
        lambda x: x[1:].add_(x[:-1]),
        lambda x: x.add_(x[0]),
        lambda x: x[1:].lerp_(x[:-1], 0.5),
        lambda x: x[:-1].addcmul_(x[1:], x[1:]),
        lambda x: x[1:].clamp_(max=x[:-1]),
        lambda x: torch.add(x[:-1], 1, out=x[1:]),
        lambda x: torch.where(x[1:] > 2, x[1:], x[:-1], out=x[1:]),
        lambda x: x[:4].view(2, 2).add_(x[:4].view(2, 2).t()),
        lambda x: x[:1].expand(4).add_(1),
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: x.copy_(x[2]),
        lambda x: x.__setitem__(slice(1, None), x[:-1]),
    ],
)
def test_what_overlaps_in_part_is_refused(device, run):
    assert "unsupported operation" in _outcome(run, "cpu")
    _assert_same(run, device)


@pytest.mark.parametrize(
    "run",
    [
        lambda x: x.add_(x),
        lambda x: x[:3].add_(x[3:]),
        lambda x: x[::2].add_(x[1::2]),
        lambda x: x.fill_(x[2]),
        lambda x: x.masked_fill_(x > 2, x[0]),
        lambda x: x.__setitem__(slice(1, None), x[0]),
        lambda x: x.copy_(x),
        lambda x: torch.mul(x[:3], x[3:], out=x[:3]),
        lambda x: torch.where(x > 2, x, -x, out=x),
        lambda x: x.copy_(x.flip(0)),
    ],
)
def test_what_does_not_is_not(device, run):
    assert isinstance(_outcome(run, "cpu"), list)
    _assert_same(run, device)


def test_offsets_that_move_are_looked_at(device):
    """The program of x[t] += x[s] has both as parameters."""
    for i, k in [(1, 4), (2, 4), (0, 3), (3, 1), (2, 2), (2, 3), (3, 2)]:
        _assert_same(lambda x, i=i, k=k: x[i : i + 2].add_(x[k : k + 2]), device)
        _assert_same(lambda x, i=i, k=k: x[i : i + 2].copy_(x[k : k + 2]), device)
