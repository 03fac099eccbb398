"""A StableHLO program as a list of nodes that can be printed, cut down and fed with data."""

import math
import re

import numpy as np

FLOATS = ("f16", "bf16", "f32", "f64")
INTS = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")
# Integers up to here are exact, and so are their sums and products in any order.
EXACT = {"f16": 2**11, "bf16": 2**8, "f32": 2**24, "f64": 2**53, "complex<f32>": 2**22}
EXACT["complex<f64>"] = 2**50
WHOLE = 2**62  # any value of the dtype


def is_float(dtype):
    return dtype in FLOATS


def is_int(dtype):
    return dtype in INTS


def tensor(kind):
    dtype, dims = kind
    return "tensor<" + "".join(f"{d}x" for d in dims) + dtype + ">"


def count(kind):
    n = 1
    for d in kind[1]:
        n *= d
    return n


class Value:
    """One result of a node. ``mag`` bounds the absolute value where the program is exact."""

    def __init__(self, kind, mag):
        self.kind, self.mag = kind, mag
        self.node = None

    @property
    def dtype(self):
        return self.kind[0]

    @property
    def dims(self):
        return self.kind[1]


class Param(Value):
    """A parameter: its elements follow from its own seed, so that they outlive any cutting."""

    def __init__(self, kind, mag, seed, exact, special=False):
        super().__init__(kind, mag)
        self.seed, self.exact, self.special = seed, exact, special
        self.data = None

    def elements(self):
        if self.data is not None:
            return self.data
        rng = np.random.RandomState(self.seed)
        dtype, dims = self.kind
        if dtype == "i1":
            return rng.randint(0, 2, dims).astype(bool)
        if is_int(dtype):
            return _integers(rng, dtype, dims, self.mag)
        if dtype.startswith("complex"):
            return (_floats(rng, dims, self) + 1j * _floats(rng, dims, self)).astype(
                numpy_of(dtype)
            )
        return _floats(rng, dims, self).astype(numpy_of(dtype))


def _integers(rng, dtype, dims, mag):
    info = np.iinfo(numpy_of(dtype))
    low, high = max(info.min, -mag), min(info.max, mag)
    if rng.rand() < 0.8:
        low, high = max(low, -9), min(high, 9)
    return rng.randint(low, high + 1 if high < 2**63 - 1 else high, dims, dtype=np.int64).astype(
        numpy_of(dtype)
    )


def _floats(rng, dims, param):
    if param.exact:
        most = int(min(param.mag, 8))
        return rng.randint(-most, most + 1, dims).astype(np.float64)
    out = rng.standard_normal(dims)
    if param.special and out.size:
        flat = out.reshape(-1)
        for x in (np.inf, -np.inf, np.nan, -0.0, 1e-30):
            flat[rng.randint(flat.size)] = x
    return out


def numpy_of(dtype):
    if dtype == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    if dtype[:2] == "f8" or dtype in ("i4", "ui4"):
        import ml_dtypes

        name = {"i4": "int4", "ui4": "uint4"}.get(dtype, "float8_" + dtype[2:].lower())
        return np.dtype(getattr(ml_dtypes, name))
    names = {"i1": "bool", "complex<f32>": "complex64", "complex<f64>": "complex128"}
    if dtype in names:
        return np.dtype(names[dtype])
    return np.dtype(re.sub("^ui", "uint", re.sub("^i", "int", re.sub("^f", "float", dtype))))


class Node:
    """An operation. ``captures`` stand in ``regions`` as %cap0, %cap1, ..."""

    def __init__(self, op, ins, results, attrs="", regions="", captures=()):
        self.op, self.ins, self.results = op, list(ins), list(results)
        self.attrs, self.regions, self.captures = attrs, regions, list(captures)
        for r in self.results:
            r.node = self

    def work(self):
        n = sum(count(v.kind) for v in self.ins + self.results)
        if self.op in ("dot_general", "convolution"):
            return math.prod(count(v.kind) for v in self.ins + self.results) ** 0.5
        window = re.search(r"window_dimensions = array<i64: ([0-9, ]+)>", self.attrs)
        if window:
            n *= math.prod(int(d) for d in window.group(1).split(","))
        return n * 8 if self.op in ("while", "sort") else n

    def text(self, names):
        def named(match):
            return names[self.captures[int(match.group(1))]]

        left = ", ".join(names[r] for r in self.results)
        ins = ", ".join(names[v] for v in self.ins)
        regions = re.sub(r"%cap(\d+)", named, self.regions)
        types = ", ".join(tensor(v.kind) for v in self.ins)
        results = ", ".join(tensor(r.kind) for r in self.results)
        attrs = f" {{{self.attrs}}}" if self.attrs else ""
        regions = f" ({regions})" if regions else ""
        callee = f'"stablehlo.{self.op}"' if "." not in self.op else f'"{self.op}"'
        return f"    {left} = {callee}({ins}){regions}{attrs} : ({types}) -> ({results})\n"


class Program:
    def __init__(self):
        self.params, self.nodes, self.outputs = [], [], []
        self.alias = {}  # of a parameter's place: the result that takes its memory; -1: any may
        self.funcs = ""
        self.exact = True

    def text(self, widened=False, apart=False):
        """``widened``: results of bf16 as f32. ``apart``: a barrier behind every node."""
        names = {p: f"%arg{i}" for i, p in enumerate(self.params)}
        params = ", ".join(
            f"%arg{i}: {tensor(p.kind)}{self._param_attrs(i)}" for i, p in enumerate(self.params)
        )
        outputs, nodes = self.outputs, list(self.nodes)
        if widened:
            wide = {v: Value(("f32", v.dims), 0) for v in outputs if v.dtype == "bf16"}
            nodes += [Node("convert", [v], [w]) for v, w in wide.items()]
            outputs = [wide.get(v, v) for v in outputs]
        body = ""
        for node in nodes:
            for r in node.results:
                names[r] = f"%v{len(names)}"
            body += node.text(names)
            if apart and node.op != "constant":
                body += self._barrier(node, names)
        types = ", ".join(tensor(v.kind) for v in outputs)
        values = ", ".join(names[v] for v in outputs)
        return (
            f"module @program {{\n  func.func public @main({params}) -> ({types}) {{\n{body}"
            f"    func.return {values} : {types}\n  }}\n{self.funcs}}}\n"
        )

    @staticmethod
    def _barrier(node, names):
        barrier = Node(
            "optimization_barrier", node.results, [Value(r.kind, 0) for r in node.results]
        )
        behind = {r: f"%apart{names[r][2:]}" for r in node.results}
        names.update(zip(barrier.results, behind.values(), strict=True))
        text = barrier.text(names)
        names.update(behind)
        return text

    def _param_attrs(self, i):
        if i not in self.alias:
            return ""
        to = self.alias[i]
        return f" {{tf.aliasing_output = {to} : i32}}" if to >= 0 else " {jax.buffer_donor = true}"

    def work(self):
        """About the number of elements that a plain interpreter computes."""
        return sum(n.work() for n in self.nodes)

    def uses(self, value):
        return self.outputs.count(value) + sum(
            (n.ins + n.captures).count(value) for n in self.nodes
        )

    def copy(self):
        new = Program()
        new.params, new.nodes = list(self.params), list(self.nodes)
        new.outputs, new.alias = list(self.outputs), dict(self.alias)
        new.funcs, new.exact = self.funcs, self.exact
        return new

    def inputs(self):
        return [p.elements() for p in self.params]

    # ---- cutting ----

    def prune(self):
        """Drop nodes and parameters that no output needs."""
        needed = set(self.outputs)
        nodes = []
        for node in reversed(self.nodes):
            if any(r in needed for r in node.results):
                needed.update(node.ins, node.captures)
                nodes.append(node)
        self.nodes = nodes[::-1]
        kept = [(i, p) for i, p in enumerate(self.params) if p in needed]
        self.alias = {k: self.alias[i] for k, (i, _) in enumerate(kept) if i in self.alias}
        self.params = [p for _, p in kept]
        return self

    def with_outputs(self, outputs, alias=None):
        new = self.copy()
        new.outputs = list(outputs)
        new.alias = {} if alias is None else alias
        return new.prune()

    def with_cut(self, node):
        """The same with the node's results as parameters; None for constants, which ops need."""
        if node.op == "constant":
            return None
        new = self.copy()
        swap = {}
        for r in node.results:
            swap[r] = Param(r.kind, r.mag, 7, self.exact)
        new.params = new.params + list(swap.values())
        new.alias = {}
        return new._replaced(node, swap)

    def with_bypass(self, node):
        """The same with an operand of the result's type in the place of the result."""
        like = [v for v in node.ins if v.kind == node.results[0].kind]
        return self.copy()._replaced(node, {node.results[0]: like[0]}) if like else None

    def _replaced(self, node, swap):
        new, nodes = self, []
        for n in new.nodes:
            if n is node:
                continue
            if any(v in swap for v in n.ins + n.captures):
                old = n
                results = [Value(r.kind, r.mag) for r in old.results]
                n = Node(
                    old.op,
                    [swap.get(v, v) for v in old.ins],
                    results,
                    old.attrs,
                    old.regions,
                    [swap.get(v, v) for v in old.captures],
                )
                swap.update(zip(old.results, results, strict=True))
            nodes.append(n)
        new.nodes = nodes
        new.outputs = [swap.get(v, v) for v in new.outputs]
        new.alias = {}
        return new.prune()


def shrink(program, fails, most=300):
    """The smallest program found for which ``fails(program)`` still holds."""
    tries = 0

    def attempt(new):
        nonlocal program, tries
        tries += 1
        if new is None or tries > most or not fails(new):
            return False
        program = new
        return True

    attempt(program.with_outputs(program.outputs))
    for i in range(len(program.outputs)):
        if len(program.outputs) > 1 and attempt(program.with_outputs([program.outputs[i]])):
            break
    while len(program.outputs) > 1 and attempt(program.with_outputs(program.outputs[1:])):
        pass
    progress = True
    while progress and tries < most:
        progress = False
        for node in list(program.nodes):
            if node in program.nodes and attempt(program.with_cut(node)):
                progress = True
            elif node in program.nodes and attempt(program.with_bypass(node)):
                progress = True
    return program
