"""Measures ours (Strict) beside PyTorch's CPU and, where it is, Google's torch_tpu.

    python bench/run.py [--only startup,gpt,...] [--rounds N] [--quick] [--pin CORE]

See README.md here.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import report

HERE = Path(__file__).resolve().parent
OUT = HERE / "out"
CASES = {
    "startup": ["startup"],
    "first": ["first", "12"],
    "ops": ["ops", "1000"],
    "conv": ["conv", "6"],
    "gpt": ["train", "gpt", "20"],
    "cnn": ["train", "cnn", "20"],
    "mlp": ["train", "mlp", "20"],
    "lstm": ["train", "lstm", "20"],
}
QUICK = {"first": "2", "ops": "100", "conv": "2", "gpt": "6", "cnn": "6", "mlp": "6", "lstm": "6"}


def systems() -> dict[str, str]:
    """Return the interpreter of each system there is."""
    found = {"ours": sys.executable, "cpu": sys.executable}
    official = os.environ.get("TT_BENCH_OFFICIAL_PYTHON", "")
    if official:
        found["official"] = official
    return found


def environment(system: str, scratch: str, pinned: bool) -> dict[str, str]:
    """Return a child's variables: no cache of an earlier run, its own plugin."""
    env = dict(os.environ, TORCH_DEVICE_BACKEND_AUTOLOAD="0", TORCH_TPU_CACHE_DIR=scratch)
    if pinned:
        env |= {"OMP_NUM_THREADS": "1", "PJRT_NPROC": "1"}
    if system == "official":
        env["TPU_LIBRARY_PATH"] = os.environ.get("TT_BENCH_OFFICIAL_PLUGIN") or plugin()
        env["PYTHONWARNINGS"] = "ignore"
        env.pop("PYTHONPATH", None)  # ours could be in it
    return env


def plugin() -> str:
    """Return the file of the plugin that ours uses."""
    code = "import torch_tpu._internal.plugin as p; print(p.path())"
    given = os.environ.get("TORCH_TPU_PLUGIN", "")
    if "/" in given:
        return given
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()[-1]


def measure(system: str, interpreter: str, case: list[str], args: argparse.Namespace) -> dict:
    """Run one child. One that fails is reported and leaves its cells empty."""
    pinned = args.pin is not None
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [interpreter, str(HERE / "child.py"), system, *case],
            env=environment(system, scratch, pinned),
            capture_output=True,
            text=True,
            timeout=1200,
            preexec_fn=(lambda: os.sched_setaffinity(0, {args.pin})) if pinned else None,
            check=False,
        )
    if done.returncode != 0:
        why = done.stderr[-2000:]
        print(f"{system} {' '.join(case)}: exit {done.returncode}\n{why}", file=sys.stderr)
        return {"failed": why, "figures": {}, "load": os.getloadavg()[0]}
    return json.loads(done.stdout.splitlines()[-1])


def tell(text: str) -> None:
    """Show what is being done, where somebody looks on."""
    if sys.stderr.isatty():
        print(text.ljust(60), end="\r", file=sys.stderr)


def run_case(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure one case on every system, in turn, as many rounds as asked."""
    case = list(CASES[name])
    if args.quick and name in QUICK:
        case[-1] = QUICK[name]
    rounds: list[report.Round] = []
    load, failed = [], []
    for i in range(args.rounds):
        one: report.Round = {}
        for system, interpreter in systems().items():
            tell(f"{name}: round {i + 1} of {args.rounds}, {system}")
            found = measure(system, interpreter, case, args)
            one[system] = found["figures"]
            load.append(found["load"])
            if "failed" in found:
                failed.append({"system": system, "error": found["failed"]})
        rounds.append(one)
    tell("")
    return {
        "rows": report.rows(rounds) + report.against_torch(rounds),
        "losses": report.losses(rounds),
        "rounds": args.rounds,
        "load": load,
        "cores": os.cpu_count(),
        "failed": failed,
        "raw": rounds,
    }


def conditions(args: argparse.Namespace) -> dict[str, Any]:
    """Return what a reader must know to compare."""
    import torch

    models = [x for x in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in x]
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cpu": models[0].split(":")[1].strip() if models else platform.machine(),
        "cores": os.cpu_count(),
        "pinned": args.pin,
        "systems": systems(),
        "plugin": os.environ.get("TORCH_TPU_PLUGIN", "default"),
        "quick": args.quick,
    }


def case_list(text: str) -> list[str]:
    """Return the cases that ``text`` names."""
    names = text.split(",")
    if unknown := set(names) - set(CASES):
        raise argparse.ArgumentTypeError(f"no such case: {', '.join(sorted(unknown))}")
    return names


def arguments() -> argparse.Namespace:
    """Return the command line's."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=case_list, default=list(CASES), help="cases, with commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one short round: does it run")
    parser.add_argument("--pin", type=int, metavar="CORE", help="one core, one thread")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    if args.quick:
        args.rounds = 1
    return args


def main() -> int:
    """Measure what was asked for, write bench/out/, print the table."""
    args = arguments()
    results = {name: run_case(name, args) for name in args.only}
    together = {
        "rows": [row for r in results.values() for row in r["rows"]],
        "losses": [row for r in results.values() for row in r["losses"]],
        "rounds": args.rounds,
        "load": [load for r in results.values() for load in r["load"]],
        "cores": os.cpu_count(),
    }
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / time.strftime("bench-%Y%m%d-%H%M%S.json")
    path.write_text(json.dumps({"conditions": conditions(args), "cases": results}, indent=1) + "\n")
    print(report.text(together))
    print(f"written: {path}")
    return 1 if any(r["failed"] for r in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
