"""Types and strides of results that the bridge knows without asking PyTorch's meta kernels.

They are those of the meta kernel or, where these two differ, of the CPU.
"""

import subprocess
import sys

import pytest
import torch

aten = torch.ops.aten


def floats(*sizes, dtype=torch.float32):
    return torch.ones(sizes, dtype=dtype)


def turned(*sizes):
    return torch.ones(*sizes).transpose(0, -1)


def lists(*shapes, dtype=torch.float32):
    return [floats(*shape, dtype=dtype) for shape in shapes]


def heads(length):
    return floats(2, length, 3, 4).transpose(1, 2)


BF16 = torch.bfloat16
ATTENTION = aten._scaled_dot_product_fused_attention_overrideable
ALL = [True, True, True]
CONV = floats(2, 3, 6, 7), floats(4, 3, 3, 3), floats(4)
CASES = {
    "layer_norm": (aten.native_layer_norm, floats(2, 3, 4), [4], floats(4), floats(4), 1e-5),
    "layer_norm of two": (aten.native_layer_norm, floats(2, 3, 4), [3, 4], None, None, 1e-5),
    "layer_norm narrow": (aten.native_layer_norm, floats(2, 4, dtype=BF16), [4], None, None, 1e-5),
    "layer_norm of none": (aten.native_layer_norm, floats(0, 4), [4], None, None, 1e-5),
    "layer_norm turned": (aten.native_layer_norm, turned(4, 3, 2), [4], floats(4), None, 1e-5),
    "layer_norm_backward": (
        aten.native_layer_norm_backward,
        *(floats(2, 3, 4), floats(2, 3, 4), [4], floats(2, 3, 1), floats(2, 3, 1)),
        *(floats(4), floats(4), ALL),
    ),
    "layer_norm_backward in part": (
        aten.native_layer_norm_backward,
        *(floats(2, 3, 4), floats(2, 3, 4), [4], floats(2, 3, 1), floats(2, 3, 1)),
        *(floats(4), None, [True, False, False]),
    ),
    "batch_norm": (
        aten._native_batch_norm_legit_functional,
        *(floats(2, 3, 4, 4), floats(3), floats(3), floats(3), floats(3), True, 0.1, 1e-5),
    ),
    "batch_norm without weight": (
        aten._native_batch_norm_legit_functional,
        *(floats(2, 3, 4), None, None, floats(3), floats(3), True, 0.1, 1e-5),
    ),
    "batch_norm_backward": (
        aten.native_batch_norm_backward,
        *(floats(2, 3, 4), floats(2, 3, 4), floats(3), floats(3), floats(3), floats(3)),
        *(floats(3), True, 1e-5, ALL),
    ),
    "batch_norm_backward in part": (
        aten.native_batch_norm_backward,
        *(floats(2, 3, 4), floats(2, 3, 4), floats(3), None, None, floats(3), floats(3)),
        *(True, 1e-5, [True, False, True]),
    ),
    "convolution": (aten.convolution, *CONV, [1, 2], [1, 0], [1, 1], False, [0, 0], 1),
    "convolution in groups": (
        aten.convolution,
        *(floats(2, 4, 9), floats(6, 2, 3), None, [2], [1], [2], False, [0], 2),
    ),
    "convolution transposed": (
        aten.convolution,
        *(floats(2, 4, 9), floats(4, 2, 3), None, [2], [1], [1], True, [1], 1),
    ),
    "convolution channels last": (
        aten.convolution,
        CONV[0].to(memory_format=torch.channels_last),
        *(*CONV[1:], [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ),
    "convolution_backward": (
        aten.convolution_backward,
        *(floats(2, 4, 4, 5), *CONV[:2], [4], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, ALL),
    ),
    "group_norm": (aten.native_group_norm, floats(2, 4, 3), floats(4), None, 2, 4, 3, 2, 1e-5),
    "group_norm narrow": (
        aten.native_group_norm,
        *(floats(2, 4, 3, dtype=BF16), None, None, 2, 4, 3, 2, 1e-5),
    ),
    "isin": (aten.isin.Scalar_Tensor, 1, floats(3)),
    "layer_norm of a corner": (
        aten.native_layer_norm,
        *(floats(2, 5, 4)[:1, :1], [4], None, None, 1e-5),
    ),
    "foreach of numbers": (
        aten._foreach_mul.Tensor,
        *([floats(dtype=BF16), floats(2, dtype=BF16)], floats()),
    ),
    "matmul of integers": (aten.mm, torch.ones(2, 3).int(), torch.ones(3, 2).int()),
    "bmm": (aten.bmm, floats(2, 3, 4), floats(2, 4, 5)),
    "gelu": (aten.gelu, turned(2, 3)),
    "mse_loss": (aten.mse_loss, floats(3), floats(2, 3), 0),
    "mse_loss mean": (aten.mse_loss, floats(3), floats(3)),
    "leaky_relu": (aten.leaky_relu, turned(2, 3), 0.1),
    "frac": (aten.frac, floats(3)),
    "attention": (ATTENTION, floats(2, 3, 5, 4), floats(2, 3, 7, 4), floats(2, 3, 7, 4)),
    "attention of heads side by side": (ATTENTION, *(heads(5), heads(7), heads(7))),
    "abs": (aten.abs, turned(2, 3)),
    "abs of complex": (aten.abs, torch.ones(3, dtype=torch.complex64)),
    "isnan": (aten.isnan, turned(2, 3)),
    "isinf of integers": (aten.isinf, torch.ones(2).int()),
    "remainder": (aten.remainder.Scalar, turned(2, 3), 2),
    "floor_divide": (aten.floor_divide, turned(2, 3), floats(2)),
    "var": (aten.var.correction, floats(2, 3, 4)),
    "var along one": (aten.var.correction, floats(2, 3, 4), [-2]),
    "std kept": (aten.std.correction, floats(2, 3, 4), [0, 2]),
    "sort": (aten.sort, floats(2, 3)),
    "sort turned": (aten.sort, turned(2, 3), 0),
    "flip": (aten.flip, floats(2, 3), [0, -1]),
    "roll": (aten.roll, floats(2, 3), [1], [1]),
    "roll of all": (aten.roll, floats(2, 3), [1]),
    "repeat": (aten.repeat, turned(2, 3), [2, 1, 3]),
    "repeat of none": (aten.repeat, floats(2), [0, 2]),
    "index_put": (aten.index_put, turned(2, 3), [torch.tensor([0])], floats()),
    "relu": (aten.relu, turned(2, 3, 4)),
    "relu of integers": (aten.relu, torch.ones(3, dtype=torch.int32)),
    "hardtanh_backward": (aten.hardtanh_backward, turned(2, 3), floats(3, 2), -1.0, 1.0),
    "mse_loss_backward": (aten.mse_loss_backward, floats(), turned(2, 3), floats(3, 2), 1),
    "masked_fill": (aten.masked_fill.Scalar, turned(2, 3), turned(2, 3) > 0, 1.0),
    "masked_fill wider": (aten.masked_fill.Scalar, floats(2), turned(2, 3) > 0, 1.0),
    "masked_fill integers": (aten.masked_fill.Scalar, torch.ones(3).long(), floats(3) > 0, 2),
    "where": (aten.where.self, floats(3) > 0, floats(2, 1), floats()),
    "where promoting": (
        aten.where.self,
        floats(3) > 0,
        floats(3),
        torch.ones(3, dtype=torch.int32),
    ),
    "dropout": (aten.native_dropout, floats(2, 3), 0.5, True),
    "dropout_backward": (aten.native_dropout_backward, turned(2, 3), turned(2, 3) > 0, 2.0),
    "logical_and": (aten.logical_and, turned(2, 3), floats(2)),
    "foreach_add": (aten._foreach_add.List, lists((2, 3), (0,)), lists((2, 3), (0,))),
    "foreach_add other": (aten._foreach_add.List, lists((2, 3)), lists((2, 3), dtype=BF16)),
    "foreach_add wider": (aten._foreach_add.List, lists((3,)), lists((2, 3))),
    "foreach_add turned": (aten._foreach_add.List, [turned(2, 3)], [floats(3, 2)]),
    "foreach_mul": (aten._foreach_mul.Scalar, lists((2,), (3,)), 2),
    "foreach_mul complex": (aten._foreach_mul.Scalar, lists((2,), (3,)), 2j),
    "foreach_div": (aten._foreach_div.ScalarList, lists((2,), (3,)), [2.0, 3.0]),
    "foreach_div integers": (aten._foreach_div.Scalar, [torch.ones(2, dtype=torch.int32)], 2),
    "foreach_norm": (aten._foreach_norm.Scalar, lists((2,), (3, 4)), 2.0),
    "foreach_sqrt": (aten._foreach_sqrt, [turned(2, 3), floats(2)]),
    "embedding": (aten.embedding, floats(5, 3), torch.ones(2, 4).long()),
    "embedding of nothing": (aten.embedding, floats(5, 3), torch.ones(0).int()),
    "embedding_backward": (
        aten.embedding_dense_backward,
        *(floats(2, 4, 3), torch.ones(2, 4).long(), 5, -1, False),
    ),
    "add of a number": (aten.add.Scalar, turned(2, 3), 2, 1.5),
    "div of integers": (aten.div.Scalar, torch.ones(3).int(), 2),
    "mul by a complex number": (aten.mul.Scalar, floats(3), 2j),
    "select_scatter": (aten.select_scatter, turned(2, 3), floats(3), 1, -1),
    "slice_scatter": (aten.slice_scatter, floats(5, 2), floats(2, 2), 0, 1, 4, 2),
    "mean": (aten.mean, floats(2, 3)),
    "ones_like": (aten.ones_like, turned(2, 3, 4)),
    "ones_like with gaps": (aten.ones_like, floats(4, 4)[:, ::2]),
    "zeros_like of a dtype": (aten.zeros_like, turned(2, 3)),
    "full_like": (aten.full_like, turned(2, 3), 2.5),
    "full_like integers": (aten.full_like, torch.ones(2).int(), 2),
    "stack": (aten.stack, lists((2, 3), (2, 3)), -1),
    "stack turned": (aten.stack, [turned(2, 3), turned(2, 3)], 1),
    "stack promoting": (aten.stack, [floats(2), torch.ones(2).int()], 0),
    "add of views": (aten.add.Tensor, turned(2, 3, 4), floats(3, 2)),
    "matmul": (aten.mm, turned(2, 3), floats(2, 4)),
    "sum": (aten.sum.dim_IntList, turned(2, 3, 4), [1], True),
}


def moved(value, device):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, list) and value and isinstance(value[0], torch.Tensor):
        return [item.to(device) for item in value]
    return value


def types(results):
    tensors = results if isinstance(results, (tuple, list)) else [results]
    return [
        (t.shape, t.stride(), t.dtype) if isinstance(t, torch.Tensor) else None for t in tensors
    ]


@pytest.mark.parametrize("name", CASES)
def test_results_are_as_the_meta_kernels_say(name):
    op, *args = CASES[name]
    wanted, found = (types(op(*(moved(a, d) for a in args))) for d in ("meta", "tpu"))
    cpu = wanted if op is ATTENTION else types(op(*args))
    for mine, *theirs in zip(found, wanted, cpu, strict=True):
        assert None in theirs or mine in theirs


ARANGES = ((5,), (2, 5), (0, 5, 2), (1, 8, 3), (0,), (5, 0, -2), (3, 3))


@pytest.mark.parametrize("numbers", ARANGES, ids=str)
@pytest.mark.parametrize("dtype", [None, torch.float32, torch.int32])
def test_numbers_in_a_row(numbers, dtype):
    mine, theirs = (torch.arange(*numbers, dtype=dtype, device=d) for d in ("tpu", "cpu"))
    assert mine.dtype == theirs.dtype and torch.equal(mine.cpu(), theirs)


WRONG = {
    "group_norm size": (aten.native_group_norm, floats(2, 4, 3), None, None, 2, 4, 9, 2, 1e-5),
    "roll by nothing": (aten.roll, floats(2, 3), [], []),
    "leaky_relu of integers": (aten.leaky_relu, torch.ones(2).int()),
    "bmm of booleans": (aten.bmm, torch.ones(1, 2, 2) > 0, floats(1, 2, 2)),
    "mm of two dtypes": (aten.mm, floats(2, 2), floats(2, 2, dtype=BF16)),
    "var axis": (aten.var.correction, floats(2, 3), [2]),
    "var axis twice": (aten.var.correction, floats(2, 3), [1, -1]),
    "sort axis": (aten.sort, floats(2, 3), 2),
    "flip twice": (aten.flip, floats(2, 3), [0, 0]),
    "repeat too few": (aten.repeat, floats(2, 3), [2]),
    "repeat negative": (aten.repeat, floats(2), [-1]),
    "layer_norm weight": (aten.native_layer_norm, floats(2, 4), [4], floats(3), None, 1e-5),
    "layer_norm shape": (aten.native_layer_norm, floats(2, 4), [5], None, None, 1e-5),
    "foreach lengths": (aten._foreach_add.List, lists((2,), (3,)), lists((2,))),
    "convolution channels": (
        aten.convolution,
        *(CONV[0], floats(4, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ),
    "convolution too small": (
        aten.convolution,
        *(CONV[0], floats(4, 3, 7, 7), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ),
    "embedding indices": (aten.embedding, floats(5, 3), floats(2)),
    "select_scatter sizes": (aten.select_scatter, floats(2, 3), floats(3), 1, 0),
    "select_scatter index": (aten.select_scatter, floats(2, 3), floats(2), 1, 3),
    "slice_scatter sizes": (aten.slice_scatter, floats(5), floats(3), 0, 1, 3, 1),
    "stack dim": (aten.stack, lists((2,)), 2),
    "stack sizes": (aten.stack, lists((2,), (3,)), 0),
    "foreach none": (aten._foreach_add.List, [], []),
    "where sizes": (aten.where.self, floats(3) > 0, floats(2), floats(3)),
    "masked_fill mask": (aten.masked_fill.Scalar, floats(3), floats(3), 1.0),
    "dropout_backward sizes": (aten.native_dropout_backward, floats(3), floats(2) > 0, 2.0),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_raise(name):
    op, *args = WRONG[name]
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        op(*(moved(a, "tpu") for a in args))


def test_first_operators_import_nothing():
    """PyTorch's Python meta kernels bring sympy: half a second and 40 MB."""
    program = """
import sys, torch, torch_tpu
import torch.nn.functional as F
x = torch.rand(2, 4, 4, 4, device="tpu", requires_grad=True)
weight, ids = torch.rand(4, 4, 3, 3, device="tpu"), torch.tensor([1, 2], device="tpu")
before = set(sys.modules)
y = F.layer_norm(x @ x + x * 2, (4,)).relu().softmax(-1)
y = F.max_pool2d(F.batch_norm(F.conv2d(y, weight), weight[0, 0, 0, :1].expand(4).clone(),
    torch.ones(4, device="tpu"), training=True), 2)
y = torch.stack([F.gelu(y), F.silu(y)]).mean((-1, -2)) + F.embedding(ids, weight[:, :, 0, 0])
y = torch.where(y > 0, y, y.masked_fill(y < 0, 1.0))
(F.cross_entropy(F.dropout(y[0], 0.5), ids) + F.mse_loss(y[0], y[1]) + y.mean()).backward()
with torch.no_grad():
    torch._foreach_add_([x], [x.grad], alpha=2)
    x.zero_().fill_(1.5).copy_(x.t() if x.dim() < 3 else x)
torch.cat([x, x]).argmax(-1).cpu()
print(sorted(m for m in set(sys.modules) - before if "." not in m))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
