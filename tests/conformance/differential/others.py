"""What is met less often: complex numbers, bits, transforms, factors, scans, CHLO."""

import math

import patterns
import regions
from program import EXACT, count, is_float, is_int, tensor
from regions import comparing, fold_region, i64s, results_of


def finite(g):
    v = g.some(lambda v: is_float(v.dtype))
    if v is not None:
        g.one("is_finite", [v], ("i1", v.dims))


def reduce_precision(g):
    v = g.some(lambda v: is_float(v.dtype))
    v = None if v is None else g.small(v, g.bound(v.dtype) // 2)
    if v is None:
        return
    exponent = {"f16": 5, "f64": 11}.get(v.dtype, 8)
    attrs = f"exponent_bits = {exponent} : i32, mantissa_bits = {g.rng.choice([2, 3, 7])} : i32"
    g.one("reduce_precision", [v], v.kind, attrs, mag=2 * v.mag)


BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


def bits_of(dtype):
    return BITS.get(dtype) or int(dtype.lstrip("ui"))


def bitcast(g):
    """To integers, of the same width, or of parts of it along a new last axis, or back."""
    v = g.some(lambda v: (g.exact and is_float(v.dtype)) or is_int(v.dtype))
    if v is None:
        return
    width = bits_of(v.dtype)
    to = g.rng.choice(["i", "ui"])
    narrow = [w for w in (8, 16, 32) if w < width]
    wide = [w for w in (16, 32, 64) if v.dims and w == width * v.dims[-1] > width]
    if narrow and g.one_in(3) and count(v.kind) * 8 <= g.count_most:
        w = g.rng.choice(narrow)
        g.one("bitcast_convert", [v], (f"{to}{w}", (*v.dims, width // w)))
    elif wide and is_int(v.dtype):
        g.one("bitcast_convert", [v], (f"{to}{wide[0]}", v.dims[:-1]))
    else:
        g.one("bitcast_convert", [v], (f"{to}{width}", v.dims))


def complexes(g):
    v = g.some(lambda v: v.dtype in ("f32", "f64"))
    v = None if v is None else g.small(v, 2**20)
    w = None if v is None else g.small(g.like(v.kind), 2**20)
    if w is None:
        return
    dtype = f"complex<{v.dtype}>"
    z = g.one("complex", [v, w], (dtype, v.dims), mag=max(v.mag, w.mag))
    if not g.exact and not g.special:
        if g.one_in(2):
            op = g.rng.choice(["exponential", "tanh", "cosine", "sine", "sqrt", "log_plus_one"])
            z = g.one(op, [z], z.kind)
        if g.one_in(4):
            return g.one("abs", [z], v.kind)
    return g.one(g.rng.choice(["real", "imag"]), [z], v.kind, mag=z.mag)


def barrier(g):
    vs = [g.some() for _ in range(g.rng.randint(1, 3))]
    g.add("optimization_barrier", vs, [v.kind for v in vs], mags=[v.mag for v in vs])


def fft(g):
    v = g.some(lambda v: v.dtype in ("f32", "f64") and v.dims and 0 not in v.dims)
    if v is None or g.exact or g.special or count(v.kind) > 20000:
        return
    rank = g.rng.randint(1, min(3, len(v.dims)))
    lengths = v.dims[-rank:]
    half = (*v.dims[:-1], v.dims[-1] // 2 + 1)
    kind = (f"complex<{v.dtype}>", v.dims)

    def transform(name, x, kind):
        attrs = f"fft_type = #stablehlo<fft_type {name}>, fft_length = {i64s(lengths)}"
        return g.one("fft", [x], kind, attrs)

    if g.one_in(2):
        z = transform("RFFT", v, (kind[0], half))
        if g.one_in(2):
            transform("IRFFT", z, v.kind)
    else:
        z = g.one("complex", [v, g.like(v.kind)], kind)
        z = transform(g.rng.choice(["FFT", "IFFT"]), z, kind)
    g.one("real", [z], (v.dtype, z.dims))


def batched(g, most=8):
    """A shape of square matrices of moderate size."""
    n = g.rng.choice([1, 2, 3, 5, 8, 17, 33])
    return tuple(g.rng.choice([1, 2, 3]) for _ in range(g.rng.choice([0, 0, 1, 2]))) + (n, n)


def dominant(g, dtype, dims):
    """A symmetric matrix with a large diagonal, bounded whatever the operand."""
    a = g.one("tanh", [g.like((dtype, dims))], (dtype, dims))
    order = [*range(len(dims) - 2), len(dims) - 1, len(dims) - 2]
    b = g.one("transpose", [a], a.kind, f"permutation = {i64s(order)}")
    rows = [
        g.one("iota", [], ("i32", dims), f"iota_dimension = {len(dims) - k} : i64") for k in (1, 2)
    ]
    diagonal = g.one("compare", rows, ("i1", dims), comparing("EQ", "SIGNED")[1:-1])
    large = g.one("constant", [], a.kind, f"value = dense<{dims[-1] * 2 + 2}.0> : {tensor(a.kind)}")
    return g.one("select", [diagonal, large, g.one("add", [a, b], a.kind)], a.kind)


def factors(g):
    """Cholesky and solves with triangles."""
    if g.exact or g.special:
        return
    dtype, dims = g.rng.choice(["f32", "f64"]), batched(g)
    a = dominant(g, dtype, dims)
    lower = g.one_in(2)
    c = a
    if g.one_in(2):
        c = g.one("cholesky", [a], a.kind, f"lower = {'true' if lower else 'false'}")
    left = g.one_in(2)
    other = g.rng.choice([1, 2, 7, 20])
    shape = (*dims[:-2], dims[-1], other) if left else (*dims[:-2], other, dims[-1])
    b = g.one("tanh", [g.like((dtype, shape))], (dtype, shape))
    attrs = (
        f"left_side = {'true' if left else 'false'}, lower = {'true' if lower else 'false'}, "
        f"unit_diagonal = {'true' if c is not a and g.one_in(4) else 'false'}, transpose_a = "
        f"#stablehlo<transpose {g.rng.choice(['NO_TRANSPOSE', 'TRANSPOSE', 'ADJOINT'])}>"
    )
    g.one("triangular_solve", [c, b], b.kind, attrs)


def batch_norm(g):
    v = g.some(
        lambda v: v.dtype in ("f32", "f64") and 2 <= len(v.dims) and 0 not in v.dims, "f32", 3
    )
    if v is None or g.exact or g.special:
        return
    axis = g.rng.randrange(len(v.dims))
    row = (v.dtype, (v.dims[axis],))
    attrs = f"epsilon = 0.25 : f32, feature_index = {axis} : i64"
    scale, offset, mean, other = (g.like(row) for _ in range(4))
    var = g.one("abs", [other], row)
    way = g.rng.randrange(3)
    if way == 0:
        g.one("batch_norm_inference", [v, scale, offset, mean, var], v.kind, attrs)
    elif way == 1:
        g.add("batch_norm_training", [v, scale, offset], [v.kind, row, row], attrs)
    else:
        ins = [v, scale, mean, var, g.like(v.kind)]
        g.add("batch_norm_grad", ins, [v.kind, row, row], attrs)


def scan(g):
    """A loop over the rows of one array that carries a row and writes rows of another."""
    v = g.some(lambda v: regions.plain(v) and v.dims and 0 < v.dims[0] <= 64 and v.dtype != "i1")
    if v is None or count(v.kind) > 20000:
        return
    n, dims = v.dims[0], v.dims[1:]
    row, one_row = (v.dtype, dims), (v.dtype, (1, *dims))
    op = g.rng.choice(["maximum", "minimum", "add"])
    carry = g.like(row)
    if op == "add":
        v, carry = g.summable(v, 2 * n), g.small(carry, g.bound(v.dtype) // 2)
        if v is None or carry is None or (not g.exact and not is_int(v.dtype) and n > 8):
            return
    mag = max(v.mag, carry.mag) if op != "add" else v.mag * n + carry.mag
    ys = g.one("constant", [], v.kind, f"value = dense<0> : {tensor(v.kind)}".replace(
        "<0>", "<0.0>" if is_float(v.dtype) else "<0>"), mag=1)  # fmt: skip
    if g.one_in(3):
        ys = v  # the array is overwritten as it is read
    i32, r, s, a = "tensor<i32>", tensor(row), tensor(one_row), tensor(v.kind)
    starts = ", ".join(["%at", *["%zero"] * len(dims)])
    ints = ", ".join([i32] * (1 + len(dims)))
    sizes = i64s((1, *dims))
    kinds = [("i32", ()), row, v.kind]
    types = ", ".join(tensor(k) for k in kinds)
    back = g.one_in(3)
    source = "%ys" if ys is v and g.one_in(2) else "%cap0"
    out = g.rng.choice(["%carry", "%next", "%x"])
    args = f"%i: {i32}, %carry: {r}, %ys: {a}"
    region = f"""{{
    ^bb0({args}):
      %n = "stablehlo.constant"() {{value = dense<{n}> : {i32}}} : () -> {i32}
      %p = "stablehlo.compare"(%i, %n) {comparing("LT", "SIGNED")} : ({i32}, {i32}) -> tensor<i1>
      "stablehlo.return"(%p) : (tensor<i1>) -> ()
    }}, {{
    ^bb0({args}):
      %zero = "stablehlo.constant"() {{value = dense<0> : {i32}}} : () -> {i32}
      %one = "stablehlo.constant"() {{value = dense<1> : {i32}}} : () -> {i32}
      %last = "stablehlo.constant"() {{value = dense<{n - 1}> : {i32}}} : () -> {i32}
      %at = "stablehlo.subtract"({"%last, %i" if back else "%i, %zero"}) : ({i32}, {i32}) -> {i32}
      %y = "stablehlo.dynamic_slice"({source}, {starts}) {{slice_sizes = {sizes}}} : ({a}, {ints}) -> {s}
      %x = "stablehlo.reshape"(%y) : ({s}) -> {r}
      %next = "stablehlo.{op}"(%carry, %x) : ({r}, {r}) -> {r}
      %o = "stablehlo.reshape"({out}) : ({r}) -> {s}
      %all = "stablehlo.dynamic_update_slice"(%ys, %o, {starts}) : ({a}, {s}, {ints}) -> {a}
      %j = "stablehlo.add"(%i, %one) : ({i32}, {i32}) -> {i32}
      "stablehlo.return"(%j, %next, %all) : ({types}) -> ()
    }}"""  # noqa: E501
    start = g.one("constant", [], ("i32", ()), "value = dense<0> : tensor<i32>")
    if source == "%ys" and op == "add" and g.exact:
        return
    g.add("while", [start, carry, ys], kinds, "", region, [2**31, mag, mag], [v])


def fold_two(g):
    """One reduce of two operands by two folds."""
    v = g.some(lambda v: regions.plain(v) and v.dims and v.dtype != "i1" and 0 not in v.dims)
    if v is None or g.special:
        return
    w = g.like(v.kind)
    rank = len(v.dims)
    axes = [a for a in range(rank) if g.one_in(2)] or [g.rng.randrange(rank)]
    n = math.prod(v.dims[a] for a in axes)
    ops = [g.rng.choice(["maximum", "minimum", "add"]) for _ in "ab"]
    if "add" in ops and regions.unfit(g, v, "add", n):
        return
    ins, inits, mags = [], [], []
    for x, op in zip((v, w), ops, strict=True):
        x, init, mag = regions.fold_bounds(g, x, op, n, regions.neutral(g, op, v.dtype, n))
        if x is None:
            return
        ins.append(x)
        inits.append(init)
        mags.append(mag if mag is not None else g.bound(v.dtype))
    t = f"tensor<{v.dtype}>"
    region = f"""{{
    ^bb0(%a: {t}, %b: {t}, %c: {t}, %d: {t}):
      %x = "stablehlo.{ops[0]}"(%a, %c) : ({t}, {t}) -> {t}
      %y = "stablehlo.{ops[1]}"(%b, %d) : ({t}, {t}) -> {t}
      "stablehlo.return"(%x, %y) : ({t}, {t}) -> ()
    }}"""
    dims = tuple(d for a, d in enumerate(v.dims) if a not in axes)
    kinds = [(v.dtype, dims)] * 2
    g.add("reduce", [*ins, *inits], kinds, f"dimensions = {i64s(axes)}", region, mags)


def write_rows(g):
    """A scatter that puts, of indices that are all different, and one that adds to batches."""
    v = g.some(lambda v: regions.plain(v) and len(v.dims) > 1 and 0 not in v.dims)
    if v is None:
        return
    n = g.rng.randint(1, v.dims[0])
    index = g.one("iota", [], ("i32", (n, 1)), "iota_dimension = 0 : i64")
    if g.one_in(2):
        index = g.one("reverse", [index], index.kind, f"dimensions = {i64s([0])}")
    u = g.like((v.dtype, (n, *v.dims[1:])))
    t = f"tensor<{v.dtype}>"
    region = f"""{{
    ^bb0(%x: {t}, %y: {t}):
      "stablehlo.return"(%y) : ({t}) -> ()
    }}"""
    attrs = (
        "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = "
        f"{list(range(1, len(v.dims)))}, inserted_window_dims = [0], "
        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, "
        "indices_are_sorted = false, unique_indices = true"
    )
    g.one("scatter", [v, index, u], v.kind, attrs, region, mag=max(v.mag, u.mag))


def batched_gather(g):
    """take_along_axis: the leading axes of operand and indices go together."""
    v = g.some(lambda v: len(v.dims) > 1 and 0 not in v.dims)
    if v is None:
        return
    rank = len(v.dims)
    axis = g.rng.randrange(rank)
    batch = [a for a in range(rank) if a != axis]
    k = g.rng.choice([1, 2, 5])
    shape = [v.dims[a] for a in batch] + [k, 1]
    if count((0, shape)) > g.count_most:
        return
    index = regions.index_param(g, tuple(shape), v.dims[axis])
    attrs = (
        f"dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [{axis}], "
        f"operand_batching_dims = {batch}, start_indices_batching_dims = "
        f"{list(range(rank - 1))}, start_index_map = [{axis}], index_vector_dim = {rank}>, "
        f"slice_sizes = {i64s([1] * rank)}, indices_are_sorted = false"
    )
    g.one("gather", [v, index], (v.dtype, tuple(shape[:-1])), attrs, mag=v.mag)


def small_products(g):
    """Integers of 8 bits with sums in 32, as quantized models have them."""
    m, k, n = (g.rng.choice([1, 2, 5, 17, 64, 100]) for _ in range(3))
    kind = g.rng.choice(["i8", "ui8"])
    x, w = g.like((kind, (m, k))), g.like((g.rng.choice(["i8", kind]), (k, n)))
    if x.dtype != w.dtype:
        return
    attrs = (
        "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
        "rhs_contracting_dimensions = [0]>"
    )
    g.one("dot_general", [x, w], ("i32" if kind == "i8" else "ui32", (m, n)), attrs)


def composite(g):
    v = g.some()
    name = f"c{g.program.funcs.count('func.func')}"
    t = tensor(v.kind)
    names = [("%a0", v.kind), ("%a1", v.kind)]
    lines = regions.body_lines(g, names, "f", g.rng.randint(0, 4))
    out = results_of(g, names, [v.kind])[0]
    g.program.funcs += (
        f"  func.func private @{name}(%a0: {t}, %a1: {t}) -> {t} {{\n{lines}"
        f"    func.return {out} : {t}\n  }}\n"
    )
    w = g.like(v.kind)
    attrs = f'name = "my.{name}", decomposition = @{name}'
    g.one("composite", [v, w], v.kind, attrs, mag=max(v.mag, w.mag))


CHLO = [
    "erf",
    "erfc",
    "sinh",
    "cosh",
    "asinh",
    "atan",
    "atanh",
    "asin",
    "acos",
    "lgamma",
    "digamma",
]


def chlo(g):
    v = g.some(lambda v: v.dtype in ("f32", "f64", "bf16"))
    if v is None:
        return
    if g.one_in(3) and not g.special and v.dims and v.dims[-1]:
        k = g.rng.randint(1, v.dims[-1])
        kinds = [(v.dtype, (*v.dims[:-1], k)), ("i32", (*v.dims[:-1], k))]
        return g.add("chlo.top_k", [v], kinds, f"k = {k} : i64", mags=[v.mag, v.dims[-1]])
    if g.exact:
        w = g.small(v, math.isqrt(EXACT[v.dtype]))
        return w and g.one("chlo.square", [w], w.kind, mag=w.mag**2)
    if not g.special:
        return g.one(f"chlo.{g.rng.choice(CHLO)}", [v], v.kind)
    return g.one(
        f"chlo.{g.rng.choice(['is_inf', 'is_pos_inf', 'is_neg_inf'])}", [v], ("i1", v.dims)
    )


def tiny(g):
    """Floats of 8 bits and integers of 4 on the way to another type."""
    v = g.some(lambda v: is_float(v.dtype) or v.dtype in ("i8", "i32", "ui8"))
    if v is None:
        return
    to = g.rng.choice(["i4", "ui4"] if is_int(v.dtype) else ["f8E4M3FN", "f8E5M2", "f8E4M3B11FNUZ"])
    if is_float(v.dtype):
        # Whole numbers up to 8 are exact in each; others are rounded, never to infinity.
        v = g.small(v, 8)
        if v is None:
            return
        if not g.exact:
            v = patterns.combine(g, "minimum", v, g.constant(v.kind)) or v
            v = g.one("tanh", [v], v.kind)
    narrow = g.one("convert", [v], (to, v.dims), mag=min(v.mag, 8))
    if g.one_in(2) and v.dims:
        g.one("reverse", [narrow], narrow.kind, f"dimensions = {i64s([0])}", mag=narrow.mag)
        narrow = g.values[-1]
    back = "i32" if is_int(v.dtype) else v.dtype
    wide = g.one("convert", [narrow], (back, v.dims), mag=16)
    g.values = [x for x in g.values if x.dtype != to]
    return wide


def window_two(g):
    """Of windows the largest element's partner: an argmax pool."""
    v = g.some(lambda v: regions.plain(v) and v.dims and v.dtype != "i1" and count(v.kind) <= 5000)
    if v is None or g.special or 0 in v.dims:
        return
    size, stride, _, _, _, dims = regions.windows(g, v)
    dims = tuple(max(0, (d - s) // t + 1) for d, s, t in zip(v.dims, size, stride, strict=True))
    w = g.like(v.kind)
    inits = [regions.neutral(g, op, v.dtype, 1) for op in ("maximum", "minimum")]
    t = f"tensor<{v.dtype}>"
    region = f"""{{
    ^bb0(%a: {t}, %b: {t}, %c: {t}, %d: {t}):
      %x = "stablehlo.maximum"(%a, %c) : ({t}, {t}) -> {t}
      %y = "stablehlo.minimum"(%b, %d) : ({t}, {t}) -> {t}
      "stablehlo.return"(%x, %y) : ({t}, {t}) -> ()
    }}"""
    attrs = f"window_dimensions = {i64s(size)}, window_strides = {i64s(stride)}"
    kinds, mags = [(v.dtype, dims)] * 2, [v.mag, w.mag]
    g.add("reduce_window", [v, w, *inits], kinds, attrs, region, mags)


def scatter_back(g):
    """A gather of rows and the scatter that is its gradient: an embedding."""
    v = g.some(lambda v: is_float(v.dtype) and len(v.dims) == 2 and 0 not in v.dims, None, 2)
    if v is None:
        return
    n = g.rng.choice([1, 3, 17, 64])
    if n * v.dims[1] > g.count_most:
        return
    index = regions.index_param(g, (n, 1), v.dims[0])
    attrs = (
        "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
        f"start_index_map = [0], index_vector_dim = 1>, slice_sizes = {i64s([1, v.dims[1]])}, "
        "indices_are_sorted = false"
    )
    rows = g.one("gather", [v, index], (v.dtype, (n, v.dims[1])), attrs, mag=v.mag)
    if g.special or (not g.exact and v.dtype in ("bf16", "f16")):
        return
    rows = g.summable(rows, 2 * n)
    if rows is None:
        return
    zero = g.one("constant", [], v.kind, f"value = dense<0.0> : {tensor(v.kind)}", mag=1)
    attrs = (
        "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
        "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, "
        "indices_are_sorted = false, unique_indices = false"
    )
    ins = [zero, index, rows]
    g.one("scatter", ins, v.kind, attrs, fold_region("add", v.dtype), mag=rows.mag * n)
