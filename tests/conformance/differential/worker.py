"""Runs programs on a plugin and on XLA's CPU backend: ``run.py`` starts it and reads its lines."""

import argparse
import json
import os
import sys
import time


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--seeds", default="")
    parser.add_argument("--exact", type=int, default=-1)
    parser.add_argument("--shrink", default="", help="folder for what fails, cut down")
    parser.add_argument("--oracle", default="xla")
    parser.add_argument("--shrink-most", type=int, default=200)
    return parser.parse_args()


ARGS = arguments()
os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"fuzzed:{ARGS.plugin}"
os.environ["JAX_PLATFORMS"] = "fuzzed,cpu"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
LINES = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

import generate  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402
import program as programs  # noqa: E402
import reference  # noqa: E402
from jax._src import compiler  # noqa: E402
from jax._src.interpreters import mlir  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402

jax.config.update("jax_enable_x64", True)
FUZZED, XLA = jax.devices("fuzzed")[0], jax.devices("cpu")[0]
TOLERANCE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-4, "float64": 1e-10}
INTERPRETED_MOST = 300000
INTERPRETER = reference.Interpreter()
EPS = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6, "float64": 1e-15}


def compile_on(device, text):
    with mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        for name in ("mhlo.num_replicas", "mhlo.num_partitions"):
            module.operation.attributes[name] = ir.IntegerAttr.get(
                ir.IntegerType.get_signless(32), 1
            )
        options = compiler.get_compile_options(
            1, 1, np.array([device], dtype=object), backend=device.client
        )
        return device.client.compile_and_load(
            module,
            executable_devices=xla_client.DeviceList((device,)),
            compile_options=options,
        )


def say(**what):
    LINES.write(json.dumps(what) + "\n")


def execute(executable, device, inputs):
    args = [jax.device_put(x, device) for x in inputs]
    results = executable.execute_sharded(args)
    return [np.asarray(x[0]) for x in results.disassemble_into_single_device_arrays()]


def perturbed(inputs, seed):
    """Each float changed by about a unit in the last place."""
    rng = np.random.RandomState(seed)
    out = []
    for x in inputs:
        if x.dtype.kind in "biu":
            out.append(x)
        else:
            unit = EPS.get(x.dtype.name, 1e-6)
            with np.errstate(all="ignore"):
                y = x * (1 + unit * rng.choice([-1, 1], x.shape)) + 1e-3 * unit * (x == 0)
                out.append(np.where(np.isfinite(x), y, x).astype(x.dtype))
    return out


def wide(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def differing(x, y, tolerance):
    """Where two arrays disagree."""
    if x.dtype.kind in "biu" and tolerance == 0:
        return x != y
    a, b = wide(x), wide(y)
    with np.errstate(all="ignore"):
        finite = np.abs(b[np.isfinite(b)])
        scale = np.clip(finite.mean(), 1e-2, 1e3) if finite.size else 0
        close = np.abs(a - b) <= tolerance * (np.abs(b) + scale)
        return ~((a == b) | (np.isnan(a) & np.isnan(b)) | close)


def loosest(program):
    """Integers, too, may come of floats; the least exact dtype in the program counts."""
    names = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
    dtypes = {r.dtype for n in program.nodes for r in n.results}
    dtypes |= {p.dtype for p in program.params}
    found = [TOLERANCE[names[d]] for d in dtypes if d in names]
    return max(found + [1e-4 if any(d.startswith("complex") for d in dtypes) else 0])


def disagreement(program, got, reference, again):
    """A message, or '' where all results agree. ``again``: the reference, on changed inputs."""
    tolerance = 0 if program.exact else loosest(program)
    for i, (x, y) in enumerate(zip(got, reference, strict=True)):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"result {i}: {x.dtype}{x.shape}, expected {y.dtype}{y.shape}"
        bad = differing(x, y, tolerance if x.dtype.kind not in "biu" else 0)
        if bad.any() and tolerance:
            for other in again():
                bad &= ~differing(other[i], y, tolerance / 30 if y.dtype.kind not in "biu" else 0)
                if not np.isfinite(wide(other[i])).all():
                    bad &= np.isfinite(wide(y)) == np.isfinite(wide(other[i]))
        if bad.any():
            at = tuple(int(k) for k in np.argwhere(bad)[0])
            many = f"{int(bad.sum())} of {bad.size} differ"
            return f"result {i}: {many}, at {at}: {x[at]}, expected {y[at]}"
    return ""


def bits(x):
    return np.ascontiguousarray(x).view(np.uint8).tobytes()


def misread(program):
    """What the interpreter gets wrong: its scatter writes to its operand, whoever else has it."""
    return any(n.op == "scatter" and program.uses(n.ins[0]) > 1 for n in program.nodes)


def interpreted(program):
    """What the reference interpreter makes of the program; None: too much, or not for it."""
    outputs = [v.dtype for v in program.outputs]
    if program.work() > INTERPRETED_MOST or any(d.startswith("complex") for d in outputs):
        return None
    if misread(program):
        return None
    say(at="interpreter")
    types = [programs.tensor(p.kind) for p in program.params]
    results = INTERPRETER.ask(program.text(widened=True), types, program.inputs())
    if not isinstance(results, list):
        return None
    dtypes = [programs.numpy_of(d) for d in outputs]
    return [x.astype(d) for x, d in zip(results, dtypes, strict=True)]


class Judge:
    """XLA's results and the interpreter's of one program, each made when first asked for."""

    def __init__(self, program):
        self.program, self.inputs = program, program.inputs()
        self.executable = self.found = None

    def by_xla(self):
        """Raises what XLA refuses the program with."""
        if self.executable is None:
            say(at="xla")
            self.executable = compile_on(XLA, self.program.text())
            self.found = execute(self.executable, XLA, self.inputs)
        return self.found

    def moved(self):
        self.by_xla()
        return [execute(self.executable, XLA, perturbed(self.inputs, s)) for s in (1, 2, 3)]

    def unlike(self, got, expected):
        return disagreement(self.program, got, expected, self.moved)

    def verdict(self, got):
        """``(kind, message)``; where the two differ, the interpreter has the last word."""
        wrong, by_book = None, None
        if ARGS.oracle != "interpreter":
            wrong = self.unlike(got, self.by_xla())
        if wrong or ARGS.oracle != "xla":
            by_book = interpreted(self.program)
        if by_book is None:
            return ("skipped", "") if wrong is None else ("wrong" if wrong else "ok", wrong)
        unlike = self.unlike(got, by_book)
        if not unlike:
            return ("xla", wrong) if wrong else ("ok", "")
        wrong = self.unlike(got, self.by_xla()) if wrong is None else wrong
        return "wrong", unlike + ("" if wrong else ", by the interpreter alone")


def check(program):
    """``(kind, message)`` of one program, as README.md has them."""
    judge = Judge(program)
    say(at="plugin")
    try:
        executable = compile_on(FUZZED, program.text())
        got = execute(executable, FUZZED, judge.inputs)
        repeated = execute(executable, FUZZED, judge.inputs)
    except Exception as e:
        got, failure = None, f"{type(e).__name__}: {e}"[:400]
    try:
        if got is None:
            judge.by_xla()
            return "error", failure
        kind, message = judge.verdict(got)
    except Exception as e:  # a fault of the generator
        return "refused", str(e)[:300]
    if kind in ("ok", "skipped"):
        if any(bits(a) != bits(b) for a, b in zip(got, repeated, strict=True)):
            return "unsteady", "two runs gave different bits"
    return kind, message


def shrunk(program, kind):
    return programs.shrink(program, lambda p: check(p)[0] == kind, ARGS.shrink_most)


def save(program, seed, kind, message):
    path = os.path.join(ARGS.shrink, f"{kind}_{seed}.mlir")
    with open(path, "w") as f:
        f.write(f"// {kind}: {message}\n{program.text()}")
    np.savez(path[:-5] + ".npz", *program.inputs())
    return path


def main():
    first, last = (int(x) for x in ARGS.seeds.split(":"))
    for seed in range(first, last):
        say(start=seed)
        begin = time.time()
        program = generate.generate(seed, None if ARGS.exact < 0 else bool(ARGS.exact))
        kind, message = check(program)
        done = {"seed": seed, "kind": kind, "message": message, "exact": program.exact}
        if kind in ("wrong", "error", "unsteady") and ARGS.shrink:
            program = shrunk(program, kind)
            done["file"] = save(program, seed, kind, check(program)[1])
        say(**done, s=round(time.time() - begin, 2))
    say(done=True)
    LINES.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
