"""Nodes with regions or indices: reductions, loops, branches, sorts, gathers and their kind."""

import math

import numpy as np
from program import EXACT, count, is_float, is_int, numpy_of, tensor


def i64s(items):
    items = list(items)
    return "array<i64" + (": " + ", ".join(map(str, items)) if items else "") + ">"


def fold_region(op, dtype):
    t = f"tensor<{dtype}>"
    return f"""{{
    ^bb0(%x: {t}, %y: {t}):
      %z = "stablehlo.{op}"(%x, %y) : ({t}, {t}) -> {t}
      "stablehlo.return"(%z) : ({t}) -> ()
    }}"""


def comparing(direction, sort):
    return (
        f"{{comparison_direction = #stablehlo<comparison_direction {direction}>, "
        f"compare_type = #stablehlo<comparison_type {sort}>}}"
    )


def sort_of(dtype):
    """The comparison type of a dtype."""
    if is_float(dtype) or dtype.startswith("complex"):
        return "FLOAT"
    return "UNSIGNED" if dtype == "i1" or dtype[0] == "u" else "SIGNED"


def plain(v):
    return not v.dtype.startswith("complex")


LOWEST = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000", "f64": "0xFFF0000000000000"}
HIGHEST = {"f16": "0x7C00", "bf16": "0x7F80", "f32": "0x7F800000", "f64": "0x7FF0000000000000"}


def neutral(g, op, dtype, n):
    """What a fold of ``n`` elements begins with. XLA may fold anything else in several times, or,
    where n is 1, not at all; for a maximum and its kind the first is the same as once."""
    if n > 1 and op in ("maximum", "minimum", "and", "or") and g.one_in(4):
        return g.like((dtype, ()))
    if dtype == "i1":
        text = "true" if op in ("and", "minimum", "multiply") else "false"
    elif op in ("add", "or"):
        text = "0" if is_int(dtype) else "0.0"
    elif op == "multiply":
        text = "1" if is_int(dtype) else "1.0"
    elif is_float(dtype):
        text = (LOWEST if op == "maximum" else HIGHEST)[dtype] if n else "1.0"
    else:
        info = np.iinfo(numpy_of(dtype))
        text = {"and": info.max if dtype[0] == "u" else -1, "maximum": info.min}.get(op, info.max)
    return g.one("constant", [], (dtype, ()), f"value = dense<{text}> : tensor<{dtype}>", mag=1)


def fold_op(g, dtype):
    if dtype == "i1":
        return g.rng.choice(["and", "or", "add", "maximum"])
    if is_int(dtype):
        return g.rng.choice(["add", "add", "maximum", "minimum", "multiply", "and", "or"])
    return g.rng.choice(["add", "add", "add", "maximum", "minimum"])


def fold_bounds(g, v, op, n, init):
    """Operand and start value so bounded that the fold is exact, and the bound of the result."""
    if not g.exact or v.dtype not in EXACT:
        return v, init, None
    if op != "add":
        return v, init, max(v.mag, init.mag)
    v = g.summable(v, 2 * n)
    init = g.small(init, 8)
    if v is None or g.bound(v.dtype) < v.mag * n + 8:
        return None, None, None
    return v, init, v.mag * n + 8


def unfit(g, v, op, n):
    """What XLA's backend does loosely: sums of many bf16 in bf16, maxima that lose a NaN."""
    if g.exact or not is_float(v.dtype):
        return False
    return (n > 32 and v.dtype in ("bf16", "f16")) or (g.special and op != "add")


def reduce(g, v=None, axes=None, op=None):
    v = v or g.some(lambda v: plain(v) and v.dims)
    if v is None:
        return None
    rank = len(v.dims)
    if axes is None:
        way = g.rng.randrange(4)
        axes = [rank - 1] if way == 0 else list(range(rank - 1)) or [0]
        if way > 1:
            axes = [a for a in range(rank) if g.one_in(2)]
    op = op or fold_op(g, v.dtype)
    n = math.prod(v.dims[a] for a in axes)
    if unfit(g, v, op, n):
        return None
    v, init, mag = fold_bounds(g, v, op, n, neutral(g, op, v.dtype, n))
    if v is None:
        return None
    dims = tuple(d for a, d in enumerate(v.dims) if a not in axes)
    r = g.one(
        "reduce", [v, init], (v.dtype, dims), f"dimensions = {i64s(axes)}",
        fold_region(op, v.dtype), mag=mag,
    )  # fmt: skip
    if g.one_in(2) and count(v.kind) <= g.count_most:
        kept = [a for a in range(rank) if a not in axes]
        attrs = f"broadcast_dimensions = {i64s(kept)}"
        g.one("broadcast_in_dim", [r], v.kind, attrs, mag=r.mag)
    return r


def argmax(g):
    v = g.some(lambda v: plain(v) and v.dims and v.dtype != "i1" and 0 not in v.dims)
    if v is None or g.special:
        return
    axis = g.rng.randrange(len(v.dims))
    index = g.one("iota", [], ("i32", v.dims), f"iota_dimension = {axis} : i64")
    zero = g.one("constant", [], ("i32", ()), "value = dense<0> : tensor<i32>")
    low = "-1000000.0" if is_float(v.dtype) else "-100" if v.dtype[0] == "i" else "0"
    start = g.one("constant", [], (v.dtype, ()), f"value = dense<{low}> : tensor<{v.dtype}>")
    sort = sort_of(v.dtype)
    t, i32, i1 = f"tensor<{v.dtype}>", "tensor<i32>", "tensor<i1>"
    region = f"""{{
    ^bb0(%a: {t}, %i: {i32}, %b: {t}, %j: {i32}):
      %p = "stablehlo.compare"(%a, %b) {comparing("GT", sort)} : ({t}, {t}) -> {i1}
      %q = "stablehlo.compare"(%a, %b) {comparing("EQ", sort)} : ({t}, {t}) -> {i1}
      %s = "stablehlo.compare"(%i, %j) {comparing("LT", "SIGNED")} : ({i32}, {i32}) -> {i1}
      %u = "stablehlo.and"(%q, %s) : ({i1}, {i1}) -> {i1}
      %w = "stablehlo.or"(%p, %u) : ({i1}, {i1}) -> {i1}
      %c = "stablehlo.select"(%w, %a, %b) : ({i1}, {t}, {t}) -> {t}
      %k = "stablehlo.select"(%w, %i, %j) : ({i1}, {i32}, {i32}) -> {i32}
      "stablehlo.return"(%c, %k) : ({t}, {i32}) -> ()
    }}"""
    dims = tuple(d for a, d in enumerate(v.dims) if a != axis)
    g.add(
        "reduce", [v, index, start, zero], [(v.dtype, dims), ("i32", dims)],
        f"dimensions = {i64s([axis])}", region, [v.mag, 2**31],
    )  # fmt: skip


def matrix(rows):
    return "[" + ", ".join("[" + ", ".join(map(str, r)) + "]" for r in rows) + "]"


def windows(g, v, most=4):
    """Sizes, strides, dilations, paddings of windows, and the dims of the result."""
    size, stride, base, dilation, padding, dims = [], [], [], [], [], []
    for d in v.dims:
        size.append(g.rng.randint(1, most) if g.one_in(2) else 1)
        stride.append(g.rng.randint(1, 3) if g.one_in(3) else 1)
        base.append(2 if g.one_in(8) else 1)
        dilation.append(2 if g.one_in(8) else 1)
        padding.append([g.rng.randint(0, 2), g.rng.randint(0, 2)] if g.one_in(3) else [0, 0])
        whole = 0 if d == 0 else (d - 1) * base[-1] + 1
        whole += sum(padding[-1])
        window = (size[-1] - 1) * dilation[-1] + 1
        dims.append(0 if whole < window else (whole - window) // stride[-1] + 1)
    return size, stride, base, dilation, padding, tuple(dims)


def reduce_window(g):
    v = g.some(lambda v: plain(v) and v.dims and count(v.kind) <= 20000)
    if v is None:
        return
    if g.one_in(3):
        return cumulative(g, v)
    size, stride, base, dilation, padding, dims = windows(g, v)
    op = fold_op(g, v.dtype)
    n = math.prod(size)
    if unfit(g, v, op, n):
        return None
    v, init, mag = fold_bounds(g, v, op, n, neutral(g, op, v.dtype, n))
    if v is None or count((0, dims)) > g.count_most:
        return None
    attrs = f"window_dimensions = {i64s(size)}, window_strides = {i64s(stride)}, "
    attrs += f"base_dilations = {i64s(base)}, window_dilations = {i64s(dilation)}, "
    attrs += f"padding = dense<{matrix(padding)}> : tensor<{len(size)}x2xi64>"
    return g.one(
        "reduce_window", [v, init], (v.dtype, dims), attrs, fold_region(op, v.dtype), mag=mag
    )


def cumulative(g, v):
    axis = g.rng.randrange(len(v.dims))
    n = v.dims[axis]
    op = fold_op(g, v.dtype)
    if n == 0 or count(v.kind) * n > 2e6:
        return None
    if unfit(g, v, op, n):
        return None
    zero = neutral(g, op, v.dtype, 1)
    v, init, mag = fold_bounds(g, v, op, n, zero)
    if v is None:
        return None
    size = [n if a == axis else 1 for a in range(len(v.dims))]
    padding = [[n - 1 if a == axis else 0, 0] for a in range(len(v.dims))]
    attrs = f"window_dimensions = {i64s(size)}, "
    attrs += f"padding = dense<{matrix(padding)}> : tensor<{len(size)}x2xi64>"
    return g.one("reduce_window", [v, init], v.kind, attrs, fold_region(op, v.dtype), mag=mag)


def sort(g):
    v = g.some(lambda v: plain(v) and v.dims and v.dtype != "i1" and count(v.kind) <= 30000)
    if v is None or g.special:
        return
    axis = g.rng.randrange(len(v.dims))
    ins = [v]
    for _ in range(g.rng.choice([0, 1, 1, 2])):
        other = g.pick(lambda w: w.dims == v.dims)
        ins.append(other or g.fresh(("i32", v.dims)))
    args = "".join(
        f"%l{i}: tensor<{w.dtype}>, %r{i}: tensor<{w.dtype}>, " for i, w in enumerate(ins)
    )[:-2]
    less = comparing(g.rng.choice(["LT", "GT"]), sort_of(v.dtype))
    t = f"tensor<{v.dtype}>"
    region = f"""{{
    ^bb0({args}):
      %p = "stablehlo.compare"(%l0, %r0) {less} : ({t}, {t}) -> tensor<i1>
      "stablehlo.return"(%p) : (tensor<i1>) -> ()
    }}"""
    attrs = f"dimension = {axis} : i64, is_stable = true"
    g.add("sort", ins, [w.kind for w in ins], attrs, region, [w.mag for w in ins])


# ---- control ----

BODY_FLOAT = ["maximum", "minimum"]
BODY_INT = ["add", "subtract", "multiply", "xor", "maximum"]


def body_lines(g, names, prefix, n):
    """Lines of elementwise ops and reversals on named values; new names join ``names``."""
    lines = ""
    for i in range(n):
        name, v = g.rng.choice(names)
        peers = [x for x, w in names if w[0] == v[0] and w[1] == v[1]]
        new = f"%{prefix}{i}"
        t = tensor(v)
        if v[1] and g.one_in(4):
            axis = g.rng.randrange(len(v[1]))
            attrs = f"{{dimensions = {i64s([axis])}}}"
            lines += f'      {new} = "stablehlo.reverse"({name}) {attrs} : ({t}) -> {t}\n'
        elif v[0] == "i1":
            lines += f'      {new} = "stablehlo.not"({name}) : ({t}) -> {t}\n'
        elif not is_int(v[0]) and (v[0].startswith("complex") or g.one_in(3)):
            lines += f'      {new} = "stablehlo.negate"({name}) : ({t}) -> {t}\n'
        else:
            op = g.rng.choice(BODY_INT if is_int(v[0]) else BODY_FLOAT)
            other = g.rng.choice(peers)
            lines += f'      {new} = "stablehlo.{op}"({name}, {other}) : ({t}, {t}) -> {t}\n'
        names.append((new, v))
    return lines


def results_of(g, names, kinds):
    """A name of each type, rather late and perhaps the same twice: loops that swap their state."""
    out = []
    for k in kinds:
        like = [x for x, w in names if w == k]
        out.append(like[-1] if g.one_in(2) else g.rng.choice(like))
    return out


def while_(g):
    state = [g.some() for _ in range(g.rng.randint(1, 4))]
    if g.one_in(2):
        state.append(g.like(state[0].kind))
    if sum(count(v.kind) for v in state) > 100000:
        return
    captures = [g.some()] if g.one_in(3) else []
    start = g.one("constant", [], ("i32", ()), "value = dense<0> : tensor<i32>")
    times = g.rng.choice([0, 1, 2, 3, 7])
    kinds = [("i32", ())] + [v.kind for v in state]
    args = ", ".join(f"%s{i}: {tensor(k)}" for i, k in enumerate(kinds))
    names = [(f"%s{i}", k) for i, k in enumerate(kinds)][1:]
    names += [(f"%cap{i}", c.kind) for i, c in enumerate(captures)]
    lines = body_lines(g, names, "b", g.rng.randint(0, 6))
    outs = results_of(g, names, kinds[1:])
    types = ", ".join(tensor(k) for k in kinds)
    i32 = "tensor<i32>"
    below = comparing("LT", "SIGNED")
    region = f"""{{
    ^bb0({args}):
      %n = "stablehlo.constant"() {{value = dense<{times}> : {i32}}} : () -> {i32}
      %p = "stablehlo.compare"(%s0, %n) {below} : ({i32}, {i32}) -> tensor<i1>
      "stablehlo.return"(%p) : (tensor<i1>) -> ()
    }}, {{
    ^bb0({args}):
      %one = "stablehlo.constant"() {{value = dense<1> : {i32}}} : () -> {i32}
      %next = "stablehlo.add"(%s0, %one) : ({i32}, {i32}) -> {i32}
{lines}      "stablehlo.return"({", ".join(["%next", *outs])}) : ({types}) -> ()
    }}"""
    mags = [2**31]
    for v in state:
        mags.append(max([w.mag for w in state + captures if w.dtype == v.dtype]))
    g.add("while", [start, *state], kinds, "", region, mags, captures)


def branches(g, op, index, n):
    captures = [g.some() for _ in range(g.rng.randint(1, 3))]
    kinds = [g.rng.choice(captures).kind for _ in range(g.rng.randint(1, 2))]
    parts = []
    for b in range(n):
        names = [(f"%cap{i}", c.kind) for i, c in enumerate(captures)]
        lines = body_lines(g, names, f"w{b}_", g.rng.randint(0, 4))
        outs = results_of(g, names, kinds)
        types = ", ".join(tensor(k) for k in kinds)
        parts.append(
            f'{{\n{lines}      "stablehlo.return"({", ".join(outs)}) : ({types}) -> ()\n    }}'
        )
    mags = [max(c.mag for c in captures if c.dtype == k[0]) for k in kinds]
    g.add(op, [index], kinds, "", ", ".join(parts), mags, captures)


def if_(g):
    branches(g, "if", g.like(("i1", ())), 2)


def case(g):
    branches(g, "case", g.like(("i32", ())), g.rng.randint(1, 4))


def call(g):
    v = g.some()
    name = f"f{g.program.funcs.count('func.func')}"
    names = [("%a0", v.kind), ("%a1", v.kind)]
    lines = body_lines(g, names, "f", g.rng.randint(0, 4))
    t = tensor(v.kind)
    out = results_of(g, names, [v.kind])[0]
    g.program.funcs += (
        f"  func.func private @{name}(%a0: {t}, %a1: {t}) -> {t} {{\n{lines}"
        f"    func.return {out} : {t}\n  }}\n"
    )
    w = g.like(v.kind)
    g.one("func.call", [v, w], v.kind, f"callee = @{name}", mag=max(v.mag, w.mag))


def map_(g):
    v = g.some(lambda v: plain(v) and count(v.kind) <= 3000 and v.dtype != "i1")
    if v is None:
        return
    w = g.like(v.kind)
    axes = i64s(range(len(v.dims)))
    region = fold_region("maximum", v.dtype)
    g.one("map", [v, w], v.kind, f"dimensions = {axes}", region, mag=max(v.mag, w.mag))


# ---- indices ----


def starts_for(g, v):
    dtype = g.rng.choice(["i32", "i32", "i64", "ui8"])
    return [g.param((dtype, ()), 2 * max(d, 1)) for d in v.dims]


def dynamic_slice(g):
    v = g.some(lambda v: len(v.dims) > 0)
    if v is None:
        return
    sizes = [g.rng.randint(min(1, d), d) if g.one_in(2) else d for d in v.dims]
    attrs = f"slice_sizes = {i64s(sizes)}"
    g.one("dynamic_slice", [v, *starts_for(g, v)], (v.dtype, tuple(sizes)), attrs, mag=v.mag)


def dynamic_update_slice(g):
    v = g.some(lambda v: len(v.dims) > 0)
    if v is None:
        return
    sizes = tuple(g.rng.randint(min(1, d), d) if g.one_in(2) else d for d in v.dims)
    u = g.like((v.dtype, sizes))
    g.one("dynamic_update_slice", [v, u, *starts_for(g, v)], v.kind, mag=max(v.mag, u.mag))


def index_param(g, shape, most):
    kind = (g.rng.choice(["i32", "i32", "i64"]), shape)
    return g.param(kind, max(1, most + (2 if g.one_in(3) else -1)))


def gather(g):
    v = g.some(lambda v: len(v.dims) > 0 and 0 not in v.dims)
    if v is None or (v.node is not None and v.node.op == "dynamic_slice"):
        return  # XLA joins the two and forgets to clamp the first's indices
    rank = len(v.dims)
    mapped = g.rng.sample(range(rank), g.rng.randint(1, rank))
    sizes = [
        1 if a in mapped and g.one_in(2) else g.rng.randint(1, d) for a, d in enumerate(v.dims)
    ]
    sizes = [d if a not in mapped and g.one_in(2) else sizes[a] for a, d in enumerate(v.dims)]
    collapsed = [a for a in range(rank) if sizes[a] == 1 and g.one_in(2)]
    batch = [g.rng.choice(g.sizes) for _ in range(g.rng.choice([0, 1, 1, 2]))]
    window = [s for a, s in enumerate(sizes) if a not in collapsed]
    total = len(batch) + len(window)
    offset = sorted(g.rng.sample(range(total), len(window)))
    dims, b, w = [], iter(batch), iter(window)
    for i in range(total):
        dims.append(next(w) if i in offset else next(b))
    if count((0, dims)) > g.count_most:
        return
    vector = g.rng.randint(0, len(batch))
    shape = batch[:vector] + [len(mapped)] + batch[vector:]
    index = index_param(g, tuple(shape), max(v.dims[a] for a in mapped))
    attrs = (
        f"dimension_numbers = #stablehlo.gather<offset_dims = {offset}, "
        f"collapsed_slice_dims = {collapsed}, start_index_map = {mapped}, "
        f"index_vector_dim = {vector}>, slice_sizes = {i64s(sizes)}, indices_are_sorted = false"
    )
    g.one("gather", [v, index], (v.dtype, tuple(dims)), attrs, mag=v.mag)


def scatter(g):
    v = g.some(lambda v: plain(v) and len(v.dims) > 0 and 0 not in v.dims)
    if v is None:
        return
    rank = len(v.dims)
    mapped = g.rng.sample(range(rank), g.rng.randint(1, rank))
    sizes = [1 if a in mapped else (g.rng.randint(1, d) if g.one_in(3) else d)
             for a, d in enumerate(v.dims)]  # fmt: skip
    inserted = [a for a in range(rank) if sizes[a] == 1 and (a in mapped or g.one_in(2))]
    batch = [g.rng.choice(g.sizes) for _ in range(g.rng.choice([0, 1, 1, 2]))]
    window = [s for a, s in enumerate(sizes) if a not in inserted]
    total = len(batch) + len(window)
    places = sorted(g.rng.sample(range(total), len(window)))
    dims, b, w = [], iter(batch), iter(window)
    for i in range(total):
        dims.append(next(w) if i in places else next(b))
    n = math.prod(batch)
    if count((0, dims)) > g.count_most or n > 5000:
        return
    op = g.rng.choice(["add", "maximum", "minimum"])
    u = g.like((v.dtype, tuple(dims)))
    mag = max(u.mag, v.mag)
    if g.exact and v.dtype in EXACT and op == "add":
        v, u = g.small(v, g.bound(v.dtype) // 2), g.summable(u, 2 * n)
        if v is None or u is None:
            return
        mag = v.mag + u.mag * n
    shape = [*batch, len(mapped)]
    index = index_param(g, tuple(shape), max(v.dims[a] for a in mapped))
    attrs = (
        f"scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {places}, "
        f"inserted_window_dims = {inserted}, scatter_dims_to_operand_dims = {mapped}, "
        f"index_vector_dim = {len(batch)}>, indices_are_sorted = false, unique_indices = false"
    )
    g.one("scatter", [v, index, u], v.kind, attrs, fold_region(op, v.dtype), mag=mag)


def select_and_scatter(g):
    v = g.some(lambda v: is_float(v.dtype) and v.dims and count(v.kind) <= 3000 and 0 not in v.dims)
    if v is None or g.special:
        return
    size = [min(d, g.rng.randint(1, 3)) for d in v.dims]
    stride = [g.rng.randint(1, 3) for _ in v.dims]
    dims = tuple((d - s) // t + 1 for d, s, t in zip(v.dims, size, stride, strict=True))
    source = g.like((v.dtype, dims))
    init = neutral(g, "add", v.dtype, 1)  # of others the spec leaves open how often they are added
    n = math.prod(size)
    source = g.summable(source, n + 1)
    if source is None:
        return
    t = f"tensor<{v.dtype}>"
    region = f"""{{
    ^bb0(%x: {t}, %y: {t}):
      %p = "stablehlo.compare"(%x, %y) {comparing("GE", "FLOAT")} : ({t}, {t}) -> tensor<i1>
      "stablehlo.return"(%p) : (tensor<i1>) -> ()
    }}, {fold_region("add", v.dtype)}"""
    attrs = f"window_dimensions = {i64s(size)}, window_strides = {i64s(stride)}, "
    attrs += f"padding = dense<0> : tensor<{len(size)}x2xi64>"
    mag = source.mag * n + 1
    g.one("select_and_scatter", [v, source, init], v.kind, attrs, region, mag=mag)


def convolution(g):
    dtype = g.rng.choice(["f32", "f32", "bf16", "f64", "i32"])
    spatial = g.rng.choice([1, 2, 2])
    channels, filters = g.rng.choice([1, 2, 4, 16]), g.rng.choice([2, 4, 6, 16])
    groups = g.rng.choice([1, 1, 1, 2, channels])
    groups = groups if channels % groups == 0 and filters % groups == 0 else 1
    image = [g.rng.choice([1, 3, 8, 17]) for _ in range(spatial)]
    kernel = [g.rng.randint(1, 4) for _ in range(spatial)]
    batch = g.rng.choice([1, 2, 3])
    stride = [g.rng.choice([1, 1, 2]) for _ in range(spatial)]
    padding = [[g.rng.randint(0, 2), g.rng.randint(0, 2)] for _ in range(spatial)]
    base = [2 if g.one_in(8) else 1 for _ in range(spatial)]
    dilation = [2 if g.one_in(8) else 1 for _ in range(spatial)]
    reversal = ["true" if g.one_in(6) else "false"] * spatial
    out = []
    for i in range(spatial):
        whole = (image[i] - 1) * base[i] + 1 + sum(padding[i])
        window = (kernel[i] - 1) * dilation[i] + 1
        if whole < window:
            return
        out.append((whole - window) // stride[i] + 1)
    s = [str(i) for i in range(spatial)]
    lhs, rhs, res = ["b", "f", *s], ["o", "i", *s], ["b", "f", *s]
    for order in (lhs, rhs, res):
        if g.one_in(2):
            g.rng.shuffle(order)
    size = {"b": batch, "f": channels} | {x: image[i] for i, x in enumerate(s)}
    x = g.like((dtype, tuple(size[a] for a in lhs)))
    size = {"o": filters, "i": channels // groups} | {a: kernel[i] for i, a in enumerate(s)}
    w = g.like((dtype, tuple(size[a] for a in rhs)))
    n = math.prod(kernel) * channels // groups
    if g.special or (n > 64 and dtype == "bf16" and not g.exact):
        return
    mag = None
    if g.exact and dtype in EXACT:
        most = math.isqrt(EXACT[dtype] // n)
        x, w = g.small(x, most), g.small(w, most)
        if x is None or w is None:
            return
        mag = x.mag * w.mag * n
    size = {"b": batch, "f": filters} | {a: out[i] for i, a in enumerate(s)}
    names = [f"[{', '.join(o)}]" for o in (lhs, rhs, res)]
    attrs = (
        f"dimension_numbers = #stablehlo.conv<{names[0]}x{names[1]}->{names[2]}>, "
        f"window_strides = {i64s(stride)}, padding = dense<{matrix(padding)}> : "
        f"tensor<{spatial}x2xi64>, lhs_dilation = {i64s(base)}, rhs_dilation = {i64s(dilation)}, "
        f"window_reversal = array<i1: {', '.join(reversal)}>, "
        f"feature_group_count = {groups} : i64, batch_group_count = 1 : i64"
    )
    g.one("convolution", [x, w], (dtype, tuple(size[a] for a in res)), attrs, mag=mag)
