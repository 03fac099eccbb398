"""Overloads that have neither a rule nor a decomposition in PyTorch, made of others that have.

One that has a rule comes here with what the rule does not support.

Each computes what PyTorch's kernel for the CPU does. ``decompose`` looks here first.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch._ops import OpOverload

_A = torch.ops.aten
_SOURCE, _PADDING, _GENERIC = 0, 1, 2  # what mask_type says: [t, t], [b, t], [b, h, t, t]


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise RuntimeError(message)


# ---- attention: what torch.nn's modules call where no gradient is wanted ----


def _masked_softmax(x: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None):
    """Softmax without the elements whose mask is True; NaN where none is left."""
    _check(mask.dtype is torch.bool, "Mask should be a boolean tensor")
    dim = x.dim() - 1 if dim is None else dim
    if mask_type == _PADDING and mask.dim() == 2 and x.dim() == 4:
        mask = mask.view(mask.shape[0], 1, 1, mask.shape[1])
    elif mask_type != _SOURCE and mask.shape != x.shape:
        _check(mask_type is not None, "Mask Type should be defined")
        _check(False, f"Mask shape should match input. mask: {mask.shape} input: {x.shape}")
    return x.masked_fill(mask, -math.inf).softmax(dim)


def _split_heads(qkv: Tensor, bias: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, scaled, keys and values, each ``[b, heads, t, d]``."""
    b, t, width = qkv.shape
    _check(width % (3 * heads) == 0, f"{width} columns are not 3 parts of {heads} heads")
    d = width // 3 // heads
    parts = (qkv + bias).view(b, t, 3, heads, d).permute(2, 0, 3, 1, 4)
    return parts[0] * (1 / math.sqrt(d)), parts[1].contiguous(), parts[2].contiguous()


def _check_attention(query, key, value, embed_dim, heads, weight, bias):
    for name, tensor, rank in (
        ("query", query, 3),
        ("key", key, 3),
        ("value", value, 3),
        ("qkv_weight", weight, 2),
        ("qkv_bias", bias, 1),
    ):
        _check(tensor.dim() == rank, f"expected {rank}-D `{name}`, got {tensor.dim()}-D tensor")
    _check(
        query.shape[2] == embed_dim,
        f"passed-in embed_dim {embed_dim} didn't match last dim of query {query.shape[2]}",
    )
    _check(
        query.shape == key.shape == value.shape, "expected `query`/`key`/`value` shapes to match"
    )
    _check(
        weight.shape == (3 * embed_dim, embed_dim),
        f"expected `qkv_weight` to be [3 * embed_dim, embed_dim], got {list(weight.shape)}",
    )
    _check(
        bias.shape[0] == 3 * embed_dim,
        "expected `qkv_bias` first dim and first dim of query to be equal",
    )
    _check(embed_dim % heads == 0, "`embed_dim` must divide evenly by `num_heads`")


def _project(query: Tensor, key: Tensor, value: Tensor, weight: Tensor) -> Tensor:
    if query is key and key is value:
        return query.matmul(weight.t())
    parts = zip((query, key, value), weight.chunk(3), strict=True)
    return torch.cat([x.matmul(w.t()) for x, w in parts], 2)


def _native_multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    _check_attention(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias)
    if query.numel() == 0:
        return torch.empty_like(query), None
    qkv = _project(query, key, value, qkv_weight)
    q, k, v = _split_heads(qkv, qkv_bias, num_head)
    scores = q.matmul(k.transpose(2, 3))
    if mask is None:
        weights = scores.softmax(3)
    else:
        weights = _masked_softmax(scores, mask.to(torch.bool), 3, mask_type)
    context = weights.matmul(v).transpose(1, 2).reshape(query.shape)
    out = torch.nn.functional.linear(context, proj_weight, proj_bias)
    if not need_weights:
        return out, None
    return out, weights.mean(1) if average_attn_weights else weights


def _transformer_encoder_layer_fwd(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    if src.numel() == 0:
        return src.clone()

    def attend(x: Tensor) -> Tensor:
        projections = (qkv_weight, qkv_bias, proj_weight, proj_bias)
        return _native_multi_head_attention(
            x, x, x, embed_dim, num_heads, *projections, mask, False, True, mask_type
        )[0]

    def feed_forward(x: Tensor) -> Tensor:
        x = torch.nn.functional.linear(x, ffn_weight_1, ffn_bias_1)
        x = torch.nn.functional.gelu(x) if use_gelu else x.relu()
        return torch.nn.functional.linear(x, ffn_weight_2, ffn_bias_2)

    x = src
    for weight, bias, block in (
        (norm_weight_1, norm_bias_1, attend),
        (norm_weight_2, norm_bias_2, feed_forward),
    ):
        if norm_first:
            x = x + block(torch.layer_norm(x, (embed_dim,), weight, bias, eps))
        else:
            x = torch.layer_norm(x + block(x), (embed_dim,), weight, bias, eps)
    return x


def _nested_tensor_from_mask_left_aligned(t: Tensor, mask: Tensor) -> bool:
    """Say no: tpu has no nested tensors, and ``nn.TransformerEncoder`` goes on without."""
    return False


# ---- counting and renormalizing ----


def _bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count, or sum the weights of, each number. Waits: the numbers say how many there are."""
    if x.dtype not in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        raise NotImplementedError(f"bincount: integers expected, not {x.dtype}")
    _check(minlength >= 0, "minlength should be >= 0")
    if x.dim() == 1 and x.numel() == 0:
        return torch.zeros(minlength, dtype=torch.int64, device=x.device)
    _check(x.dim() == 1, "bincount only supports 1-d non-negative integral inputs.")
    _check(
        weights is None or weights.shape == x.shape,
        "weights should be 1-d and have the same length as input",
    )
    if weights is not None and weights.dtype is not torch.float32:
        weights = weights.to(torch.float64)
    dtype = torch.int64 if weights is None else weights.dtype
    least, most = torch.stack(x.to(torch.int64).aminmax()).tolist()
    _check(least >= 0, "bincount only supports 1-d non-negative integral inputs.")
    added = torch.ones_like(x, dtype=dtype) if weights is None else weights
    counts = torch.zeros(max(most + 1, minlength), dtype=dtype, device=x.device)
    return counts.index_add_(0, x.to(torch.int64), added)


def _embedding_renorm_(table: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows that ``indices`` name down to ``max_norm``, one named twice once."""
    _check(table.dim() == 2, f"'self' must be 2-D, got {table.dim()}-D")
    _check(
        indices.dtype in (torch.int32, torch.int64),
        f"'indices' must be of an index dtype, not {indices.dtype}",
    )
    rows = indices.reshape(-1)
    chosen = table.index_select(0, rows)
    norms = torch.linalg.vector_norm(chosen, norm_type, 1, True)
    scaled = torch.where(norms > max_norm, chosen * (max_norm / (norms + 1e-7)), chosen)
    return table.index_copy_(0, rows, scaled.to(table.dtype))


def _repeat_interleave(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    """Find the size that the rule wants to be told. Waits for it."""
    _check(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat")
    _check(repeats.dtype in (torch.int32, torch.int64), "repeats has to be Long or Int tensor")
    if repeats.numel() == 0:
        return torch.empty_like(repeats)
    numbers = repeats.to(torch.int64)
    least, total = torch.stack((numbers.min(), numbers.sum())).tolist()
    _check(least >= 0, "repeats can not be negative")
    return torch.repeat_interleave(repeats, output_size=total)


TABLE: dict[OpOverload, Callable] = {
    _A._masked_softmax.default: _masked_softmax,
    _A._native_multi_head_attention.default: _native_multi_head_attention,
    _A._nested_tensor_from_mask_left_aligned.default: _nested_tensor_from_mask_left_aligned,
    _A._transform_bias_rescale_qkv.default: _split_heads,
    _A._transformer_encoder_layer_fwd.default: _transformer_encoder_layer_fwd,
    _A.bincount.default: _bincount,
    _A.embedding_renorm_.default: _embedding_renorm_,
    _A.repeat_interleave.Tensor: _repeat_interleave,
}
