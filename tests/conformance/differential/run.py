#!/usr/bin/env python3
"""Random StableHLO programs on our plugin and on XLA's CPU backend, compared; see README.md."""

import argparse
import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
BAD = ("wrong", "error", "unsteady", "crash", "timeout")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plugin", default="", help="libpjrt_cpu.so")
    parser.add_argument("--python", default=sys.executable, help="one that has jax")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one program")
    parser.add_argument("--exact", type=int, default=-1, help="1: exact programs only; 0: others")
    parser.add_argument("--shrink", default="", help="folder for failures, cut down")
    parser.add_argument("--oracle", default="xla", choices=("xla", "interpreter", "both"))
    parser.add_argument("--emit", default="", help="only write the programs, to this folder")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
    return parser.parse_args()


def read_into(stream, lines):
    """Each line as it comes, and None at the end."""
    for line in stream:
        lines.put(line)
    lines.put(None)


class Shard:
    """Seeds ``first`` to ``last`` - 1, in one worker after another."""

    def __init__(self, args, first, last, report):
        self.args, self.next, self.last, self.report = args, first, last, report
        self.end = time.time() + args.seconds

    def run(self):
        while self.next < self.last and time.time() < self.end:
            if not self.run_worker():
                self.next += 1

    def start(self):
        args = self.args
        command = [args.python, str(HERE / "worker.py"), f"--plugin={os.path.abspath(args.plugin)}"]
        command += [f"--seeds={self.next}:{self.last}", f"--exact={args.exact}"]
        command += [f"--shrink={args.shrink}", f"--oracle={args.oracle}"]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=HERE
        )

    def fail(self, kind, at, message):
        """What happens while the worker is at XLA's or the interpreter's is none of our faults."""
        kind = kind if at in ("start", "plugin") else "xla"
        self.report({"seed": self.next, "kind": kind, "message": f"{message}, at: {at}"})

    def run_worker(self):
        """True when all seeds are done, or time is up; else the next seed is what failed."""
        worker, lines = self.start(), queue.Queue()
        threading.Thread(target=read_into, args=(worker.stdout, lines), daemon=True).start()
        at = "start"
        try:
            while time.time() < self.end:
                try:
                    patience = self.args.timeout * (5 if at == "start" else 1)
                    line = lines.get(timeout=min(patience, max(1, self.end - time.time())))
                except queue.Empty:
                    if time.time() < self.end:
                        self.fail("timeout", at, f"nothing in {patience:g} s")
                        return False
                    continue
                if line is None:
                    self.fail("crash", at, f"exit status {worker.wait()}")
                    return False
                said = json.loads(line)
                if "done" in said:
                    return True
                if "start" in said:
                    self.next = said["start"]
                elif "at" in said:
                    at = said["at"]
                else:
                    self.report(said)
                    self.next = said["seed"] + 1
            return True
        finally:
            worker.kill()
            worker.wait()


def emit(args):
    import generate

    os.makedirs(args.emit, exist_ok=True)
    for seed in range(args.first, args.first + args.count):
        program = generate.generate(seed, None if args.exact < 0 else bool(args.exact))
        (Path(args.emit) / f"{seed}.mlir").write_text(program.text())
        if program.exact:
            (Path(args.emit) / f"{seed}.mlir.apart").write_text(program.text(apart=True))
    return 0


def main():
    args = arguments()
    if args.emit:
        return emit(args)
    if not os.path.exists(args.plugin):
        print(f"--plugin: no file {args.plugin!r}", file=sys.stderr)
        return 2
    if args.python == sys.executable and importlib.util.find_spec("jax") is None:
        print("skipped: jax is not installed, and it is the reference")
        return 0
    if args.shrink:
        os.makedirs(args.shrink, exist_ok=True)
        args.shrink = os.path.abspath(args.shrink)
    kinds, lock = Counter(), threading.Lock()

    def report(said):
        with lock:
            kinds[said["kind"]] += 1
            if said["kind"] not in ("ok", "skipped"):
                where = said.get("file", "")
                print(
                    f"{said['kind']:8} seed {said['seed']}: {said['message']} {where}", flush=True
                )

    shards, each = [], -(-args.count // args.workers)
    for first in range(args.first, args.first + args.count, each):
        last = min(first + each, args.first + args.count)
        shards.append(threading.Thread(target=Shard(args, first, last, report).run))
    for shard in shards:
        shard.start()
    for shard in shards:
        shard.join()
    print(", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())))
    return 1 if any(kinds[k] for k in BAD) or not kinds["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
