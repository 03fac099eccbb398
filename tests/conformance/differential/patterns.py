"""What models are made of, so that what the engine does for them is met often."""

import math

import regions
from program import EXACT, count, is_float


def i64s(items):
    return regions.i64s(items)


def floats(g, rank):
    v = g.some(lambda v: is_float(v.dtype) and len(v.dims) >= rank and 0 not in v.dims)
    if v is not None:
        return v
    dtype = g.rng.choice(["f32", "f32", "f32", "bf16"])
    return g.fresh(g.kind(dtype, g.rng.randint(rank, 3)))


def joined(g, v):
    """The value with something spread over some of its axes added, at times."""
    if g.one_in(2):
        return v
    return combine(g, g.rng.choice(["add", "multiply", "maximum"]), v, g.broadcast_of(v.kind)) or v


def spread(g, r, kind, kept):
    """The value along the axes ``kept``, the same along the others; at times through [.., 1]."""
    if g.one_in(3):
        dims = tuple(d if a in kept else 1 for a, d in enumerate(kind[1]))
        r = g.one("reshape", [r], (r.dtype, dims), mag=r.mag)
        kept = range(len(dims))
    attrs = f"broadcast_dimensions = {i64s(kept)}"
    return g.one("broadcast_in_dim", [r], (r.dtype, kind[1]), attrs, mag=r.mag)


def combine(g, op, a, b):
    if a is None or b is None or a.kind != b.kind:
        return None
    mag = None
    if g.exact:
        most = g.bound(a.dtype) // 2
        most = math.isqrt(g.bound(a.dtype)) if op == "multiply" else most
        a, b = g.small(a, most), g.small(b, most)
        if a is None or b is None:
            return None
        mag = a.mag * b.mag if op == "multiply" else a.mag + b.mag
        mag = max(a.mag, b.mag) if op in ("maximum", "minimum") else mag
    return g.one(op, [a, b], a.kind, mag=mag)


def rows(g, v):
    """Axes to reduce: the last, the last two, or all but the last; the others."""
    rank = len(v.dims)
    axes = g.rng.choice([[rank - 1], [rank - 1], list(range(rank - 1)), [rank - 1, rank - 2]])
    axes = sorted({a for a in axes if a >= 0}) or [0]
    return axes, [a for a in range(rank) if a not in axes]


def softmax(g):
    v = joined(g, floats(g, 1))
    axes, kept = rows(g, v)
    most = regions.reduce(g, v, axes, "maximum")
    if most is None:
        return
    x = combine(g, "subtract", v, spread(g, most, v.kind, kept))
    if x is None:
        return
    x = g.one("abs" if g.exact else "exponential", [x], x.kind, mag=x.mag)
    total = regions.reduce(g, x, axes, "add")
    if total is not None:
        op = "subtract" if g.exact else "divide"
        combine(g, op, x, spread(g, total, v.kind, kept))


def mean(g, v, axes):
    total = regions.reduce(g, v, axes, "add")
    if total is None or g.exact:
        return total
    n = float(max(1, math.prod(v.dims[a] for a in axes)))
    text = f"value = dense<{n}> : {regions.tensor(total.kind)}"
    by = g.one("constant", [], total.kind, text)
    return g.one("divide", [total, by], total.kind)


def layer_norm(g):
    v = joined(g, floats(g, 1))
    axes, kept = rows(g, v)
    wide = v
    if v.dtype in ("bf16", "f16") and g.one_in(2):
        wide = g.one("convert", [v], ("f32", v.dims), mag=v.mag)
    m = mean(g, wide, axes)
    if m is None:
        return
    x = combine(g, "subtract", wide, spread(g, m, wide.kind, kept))
    square = combine(g, "multiply", x, x)
    var = None if square is None else mean(g, square, axes)
    if var is None:
        return
    if not g.exact:
        # Not less than 1/4: rounding of rows that are all the same must not blow up.
        text = f"value = dense<0.25> : {regions.tensor(var.kind)}"
        least = g.one("constant", [], var.kind, text)
        var = g.one("rsqrt", [g.one("maximum", [var, least], var.kind)], var.kind)
    x = combine(g, "multiply", x, spread(g, var, wide.kind, kept))
    if x is not None:
        scale = spread(g, g.like((x.dtype, (x.dims[-1],))), x.kind, [len(x.dims) - 1])
        x = combine(g, "multiply", x, scale)
    add_row(g, x)


def add_row(g, v):
    if v is None or not v.dims:
        return None
    row = g.like((v.dtype, (v.dims[-1],)))
    return combine(g, "add", v, spread(g, row, v.kind, [len(v.dims) - 1]))


def activation(g, v):
    if g.exact:
        zero = "0.0" if is_float(v.dtype) else "0"
        text = f"value = dense<{zero}> : {regions.tensor(v.kind)}"
        return combine(g, "maximum", v, g.one("constant", [], v.kind, text, mag=1))
    if not is_float(v.dtype):
        return None
    return combine(g, "multiply", v, g.one("logistic", [v], v.kind))


def biased(g):
    """x w + row, of a transposed weight at times, and what follows."""
    x = floats(g, 2)
    k, n = x.dims[-1], g.rng.choice(g.sizes)
    if k * n > g.count_most or math.prod(x.dims[:-1]) * n > g.count_most or n == 0:
        return
    turned = g.one_in(2)
    w = g.like((x.dtype, (n, k) if turned else (k, n)))
    if turned:
        w = g.one("transpose", [w], (x.dtype, (k, n)), f"permutation = {i64s([1, 0])}", mag=w.mag)
    mag = None
    if g.exact:
        most = math.isqrt(g.bound(x.dtype) // (2 * max(1, k)))
        x, w = g.small(x, most), g.small(w, most)
        if x is None or w is None:
            return
        mag = max(1, x.mag * w.mag * k)
    dims = [len(x.dims) - 1]
    attrs = (
        "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], "
        f"rhs_batching_dimensions = [], lhs_contracting_dimensions = {dims}, "
        "rhs_contracting_dimensions = [0]>"
    )
    y = g.one("dot_general", [x, w], (x.dtype, (*x.dims[:-1], n)), attrs, mag=mag)
    y = add_row(g, y)
    if y is not None and not g.one_in(3):
        activation(g, y)


def norm_back(g):
    """Sums along rows and along columns of the same products."""
    v = floats(g, 2)
    x = combine(g, "multiply", v, g.like(v.kind))
    if x is None:
        return
    rank = len(v.dims)
    x = joined(g, x)
    along = regions.reduce(g, x, [rank - 1], "add")
    regions.reduce(g, x, list(range(rank - 1)), g.rng.choice(["add", "maximum"]))
    if along is not None:
        y = combine(g, "subtract", x, spread(g, along, v.kind, list(range(rank - 1))))
        if y is not None and g.one_in(2):
            regions.reduce(g, y, list(range(rank - 1)), "add")


def column_sums(g):
    v = floats(g, 2)
    x = v
    for _ in range(g.rng.randint(0, 2)):
        x = (
            combine(g, g.rng.choice(["add", "maximum", "subtract"]), joined(g, x), g.like(v.kind))
            or x
        )
    regions.reduce(g, x, list(range(len(v.dims) - 1)), g.rng.choice(["add", "maximum"]))
    if g.one_in(2):
        regions.reduce(g, x, [len(v.dims) - 1], "add")


def chain(g):
    """Elementwise ops on rows, columns and scalars spread over one shape."""
    v = floats(g, 1)
    x = v
    for _ in range(g.rng.randint(2, 8)):
        other = g.broadcast_of(v.kind) if g.one_in(2) else g.like(v.kind)
        op = g.rng.choice(["add", "subtract", "multiply", "maximum", "minimum"])
        x = combine(g, op, x, other) or x
        if g.one_in(4):
            x = g.one("negate", [x], x.kind, mag=x.mag)


def attention(g):
    b, h = g.rng.randint(1, 3), g.rng.randint(1, 4)
    s, d = g.rng.choice([1, 5, 17, 64]), g.rng.choice([4, 8, 16, 32])
    dtype = g.rng.choice(["f32", "f32", "bf16"])
    if g.exact and dtype == "bf16":
        dtype = "f32"
    parts = []
    for _ in range(3):
        p = g.like((dtype, (b, s, h * d)))
        p = g.one("reshape", [p], (dtype, (b, s, h, d)), mag=p.mag)
        order = i64s([0, 2, 1, 3])
        parts.append(
            g.one("transpose", [p], (dtype, (b, h, s, d)), f"permutation = {order}", mag=p.mag)
        )
    q, k, v = parts

    def product(x, y, out, lc, rc, n):
        most = math.isqrt(g.bound(dtype) // n)
        x, y = g.small(x, most), g.small(y, most)
        mag = x.mag * y.mag * n if g.exact else None
        attrs = (
            "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], "
            f"rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [{lc}], "
            f"rhs_contracting_dimensions = [{rc}]>"
        )
        return g.one("dot_general", [x, y], (dtype, out), attrs, mag=mag)

    p = product(q, k, (b, h, s, s), 3, 3, d)
    most = regions.reduce(g, p, [3], "maximum")
    if most is None:
        return
    x = combine(g, "subtract", p, spread(g, most, p.kind, [0, 1, 2]))
    if x is None:
        return
    x = g.one("abs" if g.exact else "exponential", [x], x.kind, mag=x.mag)
    o = product(x, v, (b, h, s, d), 3, 2, s)
    o = g.one("transpose", [o], (dtype, (b, s, h, d)), f"permutation = {i64s([0, 2, 1, 3])}",
              mag=o.mag)  # fmt: skip
    g.one("reshape", [o], (dtype, (b, s, h * d)), mag=o.mag)


def update(g):
    """An optimizer's step over parameters that take the results' places."""
    v = floats(g, 1)
    if count(v.kind) > g.count_most or v.dtype not in EXACT:
        return
    m = combine(g, "add", g.param(v.kind), v)
    n = combine(g, "maximum", g.param(v.kind), combine(g, "multiply", v, v))
    if m is not None and n is not None:
        if not g.exact:
            n = g.one("sqrt", [g.one("abs", [n], n.kind)], n.kind)
        combine(g, "subtract", g.param(v.kind), combine(g, "multiply", m, n))
