"""Random well-formed StableHLO programs: ``generate(seed)``.

Half of them are *exact*: their floats are integers so small that every sum and product of them is
exact in any order, and results are compared bit for bit.
"""

import math
import random

import others
import patterns
import regions
from program import EXACT, FLOATS, INTS, WHOLE, Node, Param, Program, Value, count, is_float, is_int

SIZES = [1] * 2 + [2] * 4 + [3, 4, 5, 5, 7, 8, 16, 17, 17, 33, 64, 64, 100, 100, 257]
DTYPES = ["f32"] * 10 + ["bf16"] * 4 + ["i32"] * 4 + ["f16", "f64", "i64", "i1", "i8", "ui8"]
RARE = ["i16", "ui16", "ui32", "ui64", "complex<f32>", "f64"]
COUNT_MOST = 60000
COUNT_LARGE = 400000


def i64s(items):
    items = list(items)
    return "array<i64" + (": " + ", ".join(map(str, items)) if items else "") + ">"


def scalar(op, dtype, value):
    return (
        f'"stablehlo.{op}"() {{value = dense<{value}> : tensor<{dtype}>}} : () -> tensor<{dtype}>'
    )


class Generator:
    def __init__(self, seed, exact=None):
        self.rng = random.Random(seed)
        self.program = Program()
        self.program.exact = self.rng.random() < 0.6 if exact is None else exact
        self.exact = self.program.exact
        self.special = not self.exact and self.rng.random() < 0.15
        self.values = []
        self.count_most = COUNT_LARGE if self.rng.random() < 0.08 else COUNT_MOST
        if self.rng.random() < 0.4:
            self.count_most = 5000
        self.sizes = [self.rng.choice(SIZES) for _ in range(4)]
        if self.rng.random() < 0.15:
            self.sizes.append(self.rng.randint(1000, 5000))
        if self.rng.random() < 0.04:
            self.sizes.append(0)
        self.dtypes = [self.rng.choice(DTYPES if self.rng.random() < 0.9 else RARE) for _ in "ab"]
        self.depth = 0

    # ---- values ----

    def one_in(self, n):
        return self.rng.randrange(n) == 0

    def add(self, op, ins, kinds, attrs="", regions="", mags=None, captures=()):
        """Appends a node and returns its results; ``mags`` are WHOLE where not given."""
        mags = mags or [self.bound(k[0]) for k in kinds]
        node = Node(
            op,
            ins,
            [Value(k, m) for k, m in zip(kinds, mags, strict=True)],
            attrs,
            regions,
            captures,
        )
        self.program.nodes.append(node)
        self.values += node.results
        return node.results

    def one(self, op, ins, kind, attrs="", regions="", mag=None, captures=()):
        mags = None if mag is None else [mag]
        return self.add(op, ins, [kind], attrs, regions, mags, captures)[0]

    def bound(self, dtype):
        return EXACT.get(dtype, WHOLE) if self.exact else WHOLE

    def kind(self, dtype=None, rank=None):
        dtype = dtype or self.rng.choice(self.dtypes)
        for _ in range(20):
            r = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]) if rank is None else rank
            dims = tuple(self.rng.choice(self.sizes) for _ in range(r))
            if count((dtype, dims)) <= self.count_most:
                return dtype, dims
        return dtype, tuple(self.rng.choice([1, 2, 5]) for _ in range(rank or 1))

    def param(self, kind, mag=None):
        mag = mag or (8 if kind[0] in EXACT else WHOLE)
        p = Param(kind, mag, self.rng.randrange(2**31), self.exact, self.special)
        self.program.params.append(p)
        self.values.append(p)
        return p

    def constant(self, kind, most=8):
        dtype, dims = kind
        n = count(kind)
        splat = n > 64 or n == 0 or self.one_in(2)
        items = [self.literal(dtype, most) for _ in range(1 if splat else n)]
        text = items[0] if splat else _nested(items, dims)
        if n == 0:
            text = ""
        name = f"value = dense<{text}> : tensor<{''.join(f'{d}x' for d in dims)}{dtype}>"
        return self.one("constant", [], kind, name, mag=most)

    def literal(self, dtype, most=8):
        if dtype == "i1":
            return self.rng.choice(["true", "false"])
        if is_int(dtype):
            return str(self.rng.randint(0 if dtype[0] == "u" else -most, most))
        # Sums of halves are exact: XLA's own rounding of them would be no fault of ours.
        x = self.rng.randint(-most, most) / (1 if self.exact else 2)
        if dtype.startswith("complex"):
            return f"({float(x)}, 1.0)"
        return f"{float(x)}"

    def fresh(self, kind):
        """A value of the type, from something new."""
        dtype, dims = kind
        way = self.rng.randrange(8)
        if way == 0:
            return self.constant(kind)
        if way == 1 and dims and dtype != "i1":
            axis = self.rng.randrange(len(dims))
            if dims[axis] <= self.bound(dtype) and dims[axis] < 100:
                attrs = f"iota_dimension = {axis} : i64"
                return self.one("iota", [], kind, attrs, mag=max(1, dims[axis]))
        if way in (2, 3, 4) and dims:
            return self.broadcast_of(kind)
        return self.param(kind)

    def broadcast_of(self, kind, source=None):
        """A value that is spread along some of the axes of ``kind``."""
        dtype, dims = kind
        axes = [a for a in range(len(dims)) if self.rng.random() < 0.5]
        if source is None:
            small = (dtype, tuple(1 if self.one_in(6) else dims[a] for a in axes))
            like = [v for v in self.values if v.kind == small]
            if like and self.one_in(2):
                source = self.rng.choice(like)
            else:
                source = self.constant(small) if self.one_in(4) else self.param(small)
        attrs = f"broadcast_dimensions = {i64s(axes)}"
        return self.one("broadcast_in_dim", [source], kind, attrs, mag=source.mag)

    def pick(self, good=lambda v: True):
        """A value there is, rather a late one; None where none is good."""
        found = [v for v in self.values if good(v)]
        if not found:
            return None
        if self.one_in(3):
            return self.rng.choice(found)
        return found[-1 - min(int(self.rng.expovariate(0.5)), len(found) - 1)]

    def some(self, good=lambda v: True, dtype=None, rank=None):
        v = self.pick(lambda v: good(v) and (dtype is None or v.dtype == dtype))
        if v is None or self.one_in(12):
            kind = self.kind(dtype, rank)
            if v is None or good(Value(kind, 8)):
                v = self.fresh(kind)
        return v if good(v) else None

    def like(self, kind):
        v = self.pick(lambda v: v.kind == kind)
        return self.fresh(kind) if v is None or self.one_in(4) else v

    def floats(self, v):
        return is_float(v.dtype)

    def small(self, v, most):
        """The value where it is bounded by ``most``, clamped to that where the program is exact."""
        if not self.exact or v.dtype not in EXACT or v.mag <= most:
            return v
        most = int(most)
        if most < 1 or v.dtype.startswith("complex"):
            return None
        kind = (v.dtype, ())
        low = self.one(
            "constant", [], kind, f"value = dense<-{most}.0> : tensor<{v.dtype}>", mag=most
        )
        high = self.one(
            "constant", [], kind, f"value = dense<{most}.0> : tensor<{v.dtype}>", mag=most
        )
        return self.one("clamp", [low, v, high], v.kind, mag=most)

    def summable(self, v, n):
        """The value so bounded that sums of ``n`` elements are exact; None where that cannot be."""
        return self.small(v, self.bound(v.dtype) // max(1, n))

    # ---- the program ----

    def run(self):
        steps = self.rng.randint(5, 40)
        kinds = list(OPS)
        weights = [OPS[k] * self.rng.choice([0.3, 1, 1, 3]) for k in kinds]
        for _ in range(self.rng.randint(1, 4)):
            self.param(self.kind())
        tries = 0
        while len(self.program.nodes) < steps and tries < 200:
            tries += 1
            self.rng.choices(kinds, weights)[0](self)
        self.choose_outputs()
        return self.program

    def choose_outputs(self):
        made = [v for v in self.values if v.node is not None]
        made = made or self.values
        outs = [made[-1]]
        outs += [v for v in made[:-1] if self.rng.random() < 0.15][:6]
        if self.one_in(10):
            outs.append(self.rng.choice(self.values))
        if self.one_in(8):
            outs.append(outs[0])
        self.rng.shuffle(outs)
        self.program.outputs = outs
        taken = set()
        for i, p in enumerate(self.program.params):
            like = [k for k, o in enumerate(outs) if o.kind == p.kind and k not in taken]
            if like and self.rng.random() < 0.4:
                to = self.rng.choice(like)
                taken.add(to)
                self.program.alias[i] = to
            elif self.one_in(8):
                self.program.alias[i] = -1


def _nested(items, dims):
    if not dims:
        return items[0]
    step = len(items) // dims[0]
    parts = [_nested(items[i * step : (i + 1) * step], dims[1:]) for i in range(dims[0])]
    return "[" + ", ".join(parts) + "]"


# ---- elementwise ----

EXACT_UNARY = ["negate", "abs", "sign", "floor", "ceil", "round_nearest_afz", "round_nearest_even"]
UNARY = [
    "exponential", "log", "tanh", "logistic", "rsqrt", "sqrt", "cbrt", "sine", "cosine", "tan",
    "log_plus_one", "exponential_minus_one",
]  # fmt: skip


def unary(g):
    v = g.some()
    if v.dtype == "i1":
        return g.one("not", [v], v.kind)
    if is_int(v.dtype):
        ops = ["not", "popcnt", "count_leading_zeros", "negate"]
        return g.one(
            g.rng.choice(ops + ([] if v.dtype[0] == "u" else ["abs", "sign"])), [v], v.kind
        )
    if v.dtype.startswith("complex"):
        op = g.rng.choice(["negate", "real", "imag"])
        part = (v.dtype[8:-1], v.dims)
        return g.one(op, [v], v.kind if op == "negate" else part, mag=v.mag)
    if g.exact or g.one_in(3):
        return g.one(g.rng.choice(EXACT_UNARY), [v], v.kind, mag=max(1, v.mag))
    return g.one(g.rng.choice(UNARY), [v], v.kind)


def binary(g):
    a = g.some()
    b = g.like(a.kind)
    if g.one_in(2):
        a, b = b, a
    dtype, mag = a.dtype, None
    if dtype == "i1":
        ops = ["and", "or", "xor", "maximum", "minimum", "multiply"]  # XLA folds sums to xor
        return g.one(g.rng.choice(ops), [a, b], a.kind)
    if is_int(dtype):
        ops = ["add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor"]
        ops += ["shift_left", "shift_right_arithmetic", "shift_right_logical"]
        ops += ["divide", "remainder"] if g.one_in(3) else []
        op = g.rng.choice(ops)
        if op in ("divide", "remainder"):  # XLA dies of some quotients by zero when it folds them
            one = g.one("constant", [], b.kind, f"value = dense<1> : {_tensor(b.kind)}", mag=1)
            b = g.one("or", [b, one], b.kind)
        return g.one(op, [a, b], a.kind)
    cplx = dtype.startswith("complex")
    op = g.rng.choice(["add", "subtract", "multiply"] + ([] if cplx else ["maximum", "minimum"]))
    if g.exact:
        least = math.isqrt(EXACT[dtype]) // (2 if cplx else 1)
        most = least if op == "multiply" else EXACT[dtype] // 2
        a, b = g.small(a, most), g.small(b, most)
        if a is None or b is None:
            return None
        mag = {"multiply": a.mag * b.mag * (2 if cplx else 1)}.get(op, a.mag + b.mag)
        if op in ("maximum", "minimum"):
            mag = max(a.mag, b.mag)
    elif not cplx and g.one_in(4):
        op = g.rng.choice(["divide", "power", "atan2", "remainder", "divide"])
    return g.one(op, [a, b], a.kind, mag=mag)


def compared(g, v):
    w = g.like(v.kind)
    ways = ["EQ", "NE"] if v.dtype.startswith("complex") else ["EQ", "NE", "LT", "LE", "GT", "GE"]
    attrs = regions.comparing(g.rng.choice(ways), regions.sort_of(v.dtype))[1:-1]
    return g.one("compare", [v, w], ("i1", v.dims), attrs)


def compare(g):
    compared(g, g.some())


def select(g):
    a = g.some()
    b = g.like(a.kind)
    if g.one_in(6):
        p = g.like(("i1", ()))
    else:
        p = g.pick(lambda v: v.kind == ("i1", a.dims))
        p = compared(g, a) if p is None or g.one_in(2) else p
    g.one("select", [p, a, b], a.kind, mag=max(a.mag, b.mag))


def clamp(g):
    v = g.some(lambda v: v.dtype != "i1" and not v.dtype.startswith("complex"))
    if v is None:
        return
    kind = (v.dtype, ()) if g.one_in(2) else v.kind
    low, high = g.like(kind), g.like(kind)
    g.one("clamp", [low, v, high], v.kind, mag=max(low.mag, v.mag, high.mag))


def convert(g):
    v = g.some(lambda v: not v.dtype.startswith("complex"))
    if v is None:
        return
    to = g.rng.choice([d for d in FLOATS + INTS + ("i1",) if d != v.dtype])
    if g.one_in(2):
        to = g.rng.choice(g.dtypes)
    if to.startswith("complex") or to == v.dtype:
        return
    if is_float(v.dtype) and to != "i1":
        v = g.small(v, min(g.bound(to), 100) if is_int(to) else g.bound(to))
        if v is None or (is_int(to) and not g.exact):
            return
        if is_int(to) and to[0] == "u":
            v = g.one("abs", [v], v.kind, mag=v.mag)
    mag = v.mag
    if is_float(to):
        if g.exact and is_int(v.dtype):
            v = narrowed(g, v)
            mag = 15
        mag = 1 if v.dtype == "i1" else mag
    g.one("convert", [v], (to, v.dims), mag=mag)


def narrowed(g, v):
    """An integer in [0, 15]."""
    mask = g.one("constant", [], v.kind, f"value = dense<15> : {_tensor(v.kind)}", mag=15)
    return g.one("and", [v, mask], v.kind, mag=15)


def _tensor(kind):
    return "tensor<" + "".join(f"{d}x" for d in kind[1]) + kind[0] + ">"


# ---- shapes ----


def broadcast(g):
    v = g.some(lambda v: len(v.dims) < 4)
    if v is None:
        return
    axes, dims = [], []
    for d in v.dims:
        while g.one_in(3) and len(dims) < 4:
            dims.append(g.rng.choice(g.sizes))
        axes.append(len(dims))
        dims.append(g.rng.choice(g.sizes) if d == 1 and g.one_in(2) else d)
    if len(dims) == len(v.dims) or g.one_in(2):
        dims.append(g.rng.choice(g.sizes))
    if count((0, dims)) <= g.count_most:
        attrs = f"broadcast_dimensions = {i64s(axes)}"
        g.one("broadcast_in_dim", [v], (v.dtype, tuple(dims)), attrs, mag=v.mag)


def reshape(g):
    v = g.some()
    n = count(v.kind)
    dims = []
    if n == 0:
        dims = [0, g.rng.choice(g.sizes)]
    while n > 1 and len(dims) < 4 and not g.one_in(4):
        parts = [d for d in range(1, min(n, 300) + 1) if n % d == 0]
        dims.append(g.rng.choice(parts))
        n //= dims[-1]
    dims += [n] if n > 1 else []
    g.rng.shuffle(dims)
    if g.one_in(4):
        dims.insert(g.rng.randint(0, len(dims)), 1)
    g.one("reshape", [v], (v.dtype, tuple(dims)), mag=v.mag)


def transpose(g):
    v = g.some(lambda v: len(v.dims) > 1)
    if v is None:
        return
    order = list(range(len(v.dims)))
    g.rng.shuffle(order)
    dims = tuple(v.dims[a] for a in order)
    g.one("transpose", [v], (v.dtype, dims), f"permutation = {i64s(order)}", mag=v.mag)


def slice_(g):
    v = g.some(lambda v: len(v.dims) > 0)
    if v is None:
        return
    starts, limits, strides, dims = [], [], [], []
    for d in v.dims:
        start = g.rng.randint(0, d) if g.one_in(3) else 0
        limit = g.rng.randint(start, d) if g.one_in(2) else d
        if limit == start and not g.one_in(10):
            start, limit = 0, d
        step = g.rng.randint(2, 4) if g.one_in(5) else 1
        starts.append(start)
        limits.append(limit)
        strides.append(step)
        dims.append((limit - start + step - 1) // step)
    attrs = f"start_indices = {i64s(starts)}, limit_indices = {i64s(limits)}"
    g.one("slice", [v], (v.dtype, tuple(dims)), f"{attrs}, strides = {i64s(strides)}", mag=v.mag)


def pad(g):
    v = g.some(lambda v: len(v.dims) > 0)
    if v is None:
        return
    low, high, inside, dims = [], [], [], []
    for d in v.dims:
        inside.append(g.rng.randint(1, 2) if g.one_in(6) else 0)
        low.append(g.rng.randint(-2, 5) if g.one_in(2) else 0)
        high.append(g.rng.randint(-2, 5) if g.one_in(2) else 0)
        dims.append(d + low[-1] + high[-1] + max(0, d - 1) * inside[-1])
    if min(dims) < 0 or count((0, dims)) > g.count_most:
        return
    with_ = g.like((v.dtype, ()))
    attrs = f"edge_padding_low = {i64s(low)}, edge_padding_high = {i64s(high)}"
    attrs += f", interior_padding = {i64s(inside)}"
    g.one("pad", [v, with_], (v.dtype, tuple(dims)), attrs, mag=max(v.mag, with_.mag))


def concatenate(g):
    v = g.some(lambda v: len(v.dims) > 0)
    if v is None:
        return
    axis = g.rng.randrange(len(v.dims))
    parts = [v]
    for _ in range(g.rng.randint(0, 3)):

        def fits(w):
            return (
                w.dtype == v.dtype
                and len(w.dims) == len(v.dims)
                and all(
                    a == b or i == axis for i, (a, b) in enumerate(zip(w.dims, v.dims, strict=True))
                )
            )

        parts.append(g.pick(fits) if g.one_in(2) else g.like(v.kind))
    g.rng.shuffle(parts)
    dims = list(v.dims)
    dims[axis] = sum(p.dims[axis] for p in parts)
    if count((0, dims)) <= g.count_most:
        kind = (v.dtype, tuple(dims))
        mag = max(p.mag for p in parts)
        g.one("concatenate", parts, kind, f"dimension = {axis} : i64", mag=mag)


def reverse(g):
    v = g.some(lambda v: len(v.dims) > 0)
    if v is not None:
        axes = [a for a in range(len(v.dims)) if g.one_in(2)]
        g.one("reverse", [v], v.kind, f"dimensions = {i64s(axes)}", mag=v.mag)


def fresh(g):
    g.fresh(g.kind())


# ---- contractions ----


def dot(g):
    v = g.some(lambda v: v.dims and v.dtype != "i1" and not v.dtype.startswith("complex"))
    if v is None:
        return
    axes = list(range(len(v.dims)))
    g.rng.shuffle(axes)
    contract = axes[: g.rng.randint(0 if g.one_in(8) else 1, min(2, len(axes)))]
    rest = axes[len(contract) :]
    batch = rest[: g.rng.choice([0, 0, 1, 1, 2])]
    batch = [a for a in batch if v.dims[a] <= 64]
    roles = [("b", a) for a in batch] + [("c", a) for a in contract]
    roles += [("f", g.rng.choice(g.sizes)) for _ in range(g.rng.choice([0, 1, 1, 1, 2]))]
    g.rng.shuffle(roles)
    dims = tuple(v.dims[x] if r != "f" else x for r, x in roles)
    kind = (v.dtype, dims)
    free = [v.dims[a] for a in range(len(v.dims)) if a not in batch + contract]
    out = tuple([v.dims[a] for a in batch] + free + [x for r, x in roles if r == "f"])
    k = math.prod(v.dims[a] for a in contract)
    if max(count(kind), count((0, out))) > g.count_most or count((0, out)) * k > 2e7:
        return
    w = g.like(kind)
    if g.one_in(4):
        w = viewed(g, kind) or w
    place = {x: i for i, (r, x) in enumerate(roles) if r != "f"}
    out_dtype, mag = v.dtype, None
    if v.dtype in ("bf16", "f16") and g.one_in(3):
        out_dtype = "f32"
    if g.exact and v.dtype in EXACT:
        most = math.isqrt(max(0, g.bound(v.dtype) // max(1, k)))
        v, w = g.small(v, most), g.small(w, most)
        if v is None or w is None:
            return
        mag = max(1, v.mag * w.mag * k)
    lhs, rhs = (batch, contract), ([place[a] for a in batch], [place[a] for a in contract])
    ins = [v, w]
    if g.one_in(2):
        ins, lhs, rhs = [w, v], rhs, lhs
        out = tuple([v.dims[a] for a in batch] + [x for r, x in roles if r == "f"] + free)
    attrs = (
        f"dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {lhs[0]}, "
        f"rhs_batching_dimensions = {rhs[0]}, lhs_contracting_dimensions = {lhs[1]}, "
        f"rhs_contracting_dimensions = {rhs[1]}>"
    )
    r = g.one("dot_general", ins, (out_dtype, out), attrs, mag=mag)
    if g.one_in(3):
        r = patterns.add_row(g, r)
        if r is not None and g.one_in(2):
            patterns.activation(g, r)


def viewed(g, kind):
    """A value of the type as a transpose or slice of another."""
    dtype, dims = kind
    if len(dims) < 2 or count(kind) * 2 > g.count_most:
        return None
    if g.one_in(2):
        order = list(range(len(dims)))
        g.rng.shuffle(order)
        source = [0] * len(dims)
        for i, a in enumerate(order):
            source[a] = dims[i]
        v = g.like((dtype, tuple(source)))
        return g.one("transpose", [v], kind, f"permutation = {i64s(order)}", mag=v.mag)
    axis = g.rng.randrange(len(dims))
    whole = list(dims)
    whole[axis] = dims[axis] * 2 + 1
    start = g.rng.randint(0, dims[axis] + 1)
    v = g.like((dtype, tuple(whole)))
    starts = [start if a == axis else 0 for a in range(len(dims))]
    limits = [s + d for s, d in zip(starts, dims, strict=True)]
    attrs = f"start_indices = {i64s(starts)}, limit_indices = {i64s(limits)}"
    return g.one("slice", [v], kind, f"{attrs}, strides = {i64s([1] * len(dims))}", mag=v.mag)


OPS = {
    unary: 8, binary: 14, compare: 2, select: 4, clamp: 1, convert: 4, broadcast: 5, reshape: 4,
    transpose: 3, slice_: 4, pad: 2, concatenate: 3, reverse: 1, fresh: 2, dot: 4,
    regions.reduce: 8, regions.argmax: 1, regions.reduce_window: 1, regions.sort: 1,
    regions.while_: 1, regions.if_: 1, regions.case: 0.5, regions.call: 0.5,
    regions.scatter: 1, regions.select_and_scatter: 0.3, regions.dynamic_slice: 1,
    regions.dynamic_update_slice: 2, regions.gather: 1.5, regions.convolution: 0.7,
    regions.map_: 0.2,
    patterns.softmax: 1.5, patterns.layer_norm: 1.5, patterns.biased: 2, patterns.norm_back: 1,
    others.finite: 0.3, others.reduce_precision: 0.5, others.bitcast: 0.7, others.complexes: 0.7,
    others.barrier: 0.3, others.fft: 0.5, others.factors: 0.3, others.batch_norm: 0.5,
    others.scan: 1.5, others.fold_two: 0.7, others.write_rows: 0.5, others.batched_gather: 0.7,
    others.small_products: 0.4, others.composite: 0.3, others.chlo: 0.7, others.tiny: 0.5,
    others.window_two: 0.3, others.scatter_back: 0.7,
    patterns.chain: 2, patterns.column_sums: 1.5, patterns.attention: 0.5, patterns.update: 1,
}  # fmt: skip


def generate(seed, exact=None):
    return Generator(seed, exact).run()
