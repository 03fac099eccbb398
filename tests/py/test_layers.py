"""Layers that go to operators of their own in some setting: without statistics, without gradients.

Each against the CPU.
"""

import copy
import itertools

import pytest
import torch
import torch.nn.functional as F
from torch import nn


def _assert_same_training(module, x, device):
    """Compare the output, the gradients and the statistics of one step."""
    ours = copy.deepcopy(module).to(device)
    inputs = [x.clone().requires_grad_(), x.to(device).requires_grad_()]
    outputs = [m(i) for m, i in zip((module, ours), inputs, strict=True)]
    weight = torch.randn_like(x)
    for out in outputs:
        (out * weight.to(out.device)).sum().backward()
    torch.testing.assert_close(outputs[1].cpu(), outputs[0])
    torch.testing.assert_close(inputs[1].grad.cpu(), inputs[0].grad, rtol=1e-4, atol=1e-5)
    for p, q in zip(module.parameters(), ours.parameters(), strict=True):
        torch.testing.assert_close(q.grad.cpu(), p.grad, rtol=1e-4, atol=1e-5)
    for p, q in zip(module.buffers(), ours.buffers(), strict=True):
        torch.testing.assert_close(q.cpu(), p)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    "kind, rank",
    [
        (nn.InstanceNorm1d, 1),
        (nn.InstanceNorm2d, 2),
        (nn.InstanceNorm3d, 3),
        (nn.BatchNorm1d, 1),
        (nn.BatchNorm2d, 2),
    ],
)
def test_norms_of_the_batch_alone(device, kind, rank, training):
    for affine, tracked in itertools.product([False, True], repeat=2):
        torch.manual_seed(rank)
        module = kind(3, affine=affine, track_running_stats=tracked).train(training)
        _assert_same_training(module, torch.randn(4, 3, *[5] * rank), device)


def test_norms_without_statistics_as_functions(device):
    x = torch.randn(2, 3, 4)
    torch.testing.assert_close(F.instance_norm(x.to(device)).cpu(), F.instance_norm(x))
    got, want = (
        F.batch_norm(x.to(d), None, None, training=True, eps=0.1).cpu() for d in (device, "cpu")
    )
    torch.testing.assert_close(got, want)
    with pytest.raises(RuntimeError, match="running_mean"):
        F.batch_norm(x.to(device), None, None)


# ---- attention ----


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("mask_type", [None, 0, 1, 2])
def test_native_attention(device, mask_type, dtype):
    torch.manual_seed(0)
    b, t, heads, width = 2, 5, 4, 8
    shapes = {0: (t, t), 1: (b, t), 2: (b, heads, t, t)}
    mask = torch.rand(shapes[mask_type]) > 0.6 if mask_type is not None else None
    q, k, v = torch.randn(3, b, t, width, dtype=dtype)
    w, p = (torch.randn(n * width, width).mul(0.3).to(dtype) for n in (3, 1))
    rest = (width, heads, w, w[:, 0], p, p[0], mask)

    def call(place, inputs, *flags):
        moved = {id(x): x.to(place) for x in inputs}
        args = [x.to(place) if isinstance(x, torch.Tensor) else x for x in rest]
        return torch._native_multi_head_attention(
            *(moved[id(x)] for x in inputs), *args, *flags, mask_type
        )

    close = (
        {"rtol": 2e-2, "atol": 3e-2} if dtype is torch.bfloat16 else {"rtol": 1e-4, "atol": 1e-5}
    )
    for inputs in [(q, q, q), (q, k, k), (q, k, v)]:
        for flags in [(True, True), (True, False), (False, True)]:
            want, got = call("cpu", inputs, *flags), call(device, inputs, *flags)
            assert (got[1] is None) == (want[1] is None)
            for g, w_ in zip(got, want, strict=True):
                if g is not None:
                    torch.testing.assert_close(g.cpu(), w_, equal_nan=True, **close)


def test_native_attention_refuses_what_the_cpu_refuses(device):
    x, w, b = torch.ones(1, 2, 4), torch.ones(12, 4), torch.ones(12)
    for inputs, match in [
        ((x[0], x, x, 4, 2, w, b), "3-D `query`"),
        ((x, x, x, 3, 2, w, b), "didn't match last dim"),
        ((x, x[:, :1], x, 4, 2, w, b), "shapes to match"),
        ((x, x, x, 4, 3, w, b), "divide evenly"),
        ((x, x, x, 4, 2, w, b[:3]), "qkv_bias"),
    ]:
        for place in ("cpu", device):
            args = [a.to(place) if isinstance(a, torch.Tensor) else a for a in (*inputs, w[:4], b)]
            with pytest.raises(RuntimeError, match=match):
                torch._native_multi_head_attention(*args)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_transformer_encoder_layer_without_gradients(device, norm_first, activation):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        8, 2, 16, activation=activation, batch_first=True, norm_first=norm_first
    ).eval()
    ours = copy.deepcopy(layer).to(device)
    x = torch.randn(3, 5, 8)
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    padding = torch.arange(5) >= torch.tensor([[5], [3], [1]])
    boolean = causal.isinf()
    for mask, pad in [(None, None), (causal, None), (None, padding), (boolean, padding)]:
        with torch.no_grad():
            want = layer(x, mask, pad)
            got = ours(x.to(device), *(m if m is None else m.to(device) for m in (mask, pad)))
        torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-5)


def test_transformer_encoder_with_padding(device):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval()
    ours = copy.deepcopy(encoder).to(device)
    x, padding = torch.randn(3, 5, 8), torch.arange(5) >= torch.tensor([[5], [3], [1]])
    with torch.inference_mode():
        want = encoder(x, src_key_padding_mask=padding)
        got = ours(x.to(device), src_key_padding_mask=padding.to(device)).cpu()
    torch.testing.assert_close(got[~padding], want[~padding], rtol=1e-4, atol=1e-5)


def test_multihead_attention_without_gradients(device):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, batch_first=True).eval().requires_grad_(False)
    ours = copy.deepcopy(layer).to(device)
    x = torch.randn(3, 5, 8)
    for keywords in [{}, {"need_weights": False}, {"average_attn_weights": False}]:
        y = x.to(device)
        for got, want in zip(ours(y, y, y, **keywords), layer(x, x, x, **keywords), strict=True):
            assert (got is None) == (want is None)
            if want is not None:
                torch.testing.assert_close(got.cpu(), want)
