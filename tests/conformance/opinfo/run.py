"""PyTorch's OpInfo samples on the device against the CPU. See README.md.

python tests/conformance/opinfo/run.py [--grad] [--ops REGEX] [--stride N] [--samples 3]
"""

import argparse
import json
import os
import re
import select
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
START_LIMIT_S = 300
RENEW = 100
"""Cases after which a worker is replaced: its compiled programs stay in memory."""


class Worker:
    """A process that runs cases; killed by a case that takes too long, and by one that crashes."""

    def __init__(self, samples: int, grad: bool):
        env = {k: v for k, v in os.environ.items() if k != "TORCH_TPU_FALLBACK"}
        env["PYTHONPATH"] = os.pathsep.join(
            filter(None, [env.get("PYTHONPATH", ""), str(HERE.parents[2])])
        )
        command = [sys.executable, "-W", "ignore", str(HERE / "worker.py"), str(samples)]
        self.process = subprocess.Popen(
            [*command, "grad" if grad else "forward"],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.done = 0
        status, text = self._reply(START_LIMIT_S)
        if status != "ready":
            raise SystemExit(f"opinfo: the worker does not start: {status} {text}")

    def run(self, name: str, limit_s: float) -> tuple[str, str]:
        """Run one case and return its status and message."""
        try:
            self.process.stdin.write(name.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return "crash", f"exit {self.process.wait()}"
        self.done += 1
        return self._reply(limit_s)

    def _reply(self, limit_s: float) -> tuple[str, str]:
        if not select.select([self.process.stdout], [], [], limit_s)[0]:
            self.close()
            return "hang", f"no result in {limit_s:.0f} s"
        line = self.process.stdout.readline()
        if not line:
            return "crash", f"exit {self.process.wait()}"
        status, text = json.loads(line)
        return status, text

    @property
    def usable(self) -> bool:
        return self.process.poll() is None and self.done < RENEW

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def run_cases(names: list[str], args: argparse.Namespace) -> Iterator[tuple[str, str, str, float]]:
    """Yield (name, status, message, seconds) for each case."""
    worker = None
    for name in names:
        if worker is None or not worker.usable:
            if worker is not None:
                worker.close()
            worker = Worker(args.samples, args.grad)
        start = time.monotonic()
        status, text = worker.run(name, args.limit)
        if status in ("hang", "crash"):
            worker.close()
        yield name, status, text, time.monotonic() - start
    if worker is not None:
        worker.close()


def known_failures(path: Path, grad: bool) -> dict[str, str]:
    """Read ``forward|grad NAME REASON`` lines. What fails forward is not expected of --grad."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split(None, 2)
        if len(parts) < 3 or parts[0] not in ("forward", "grad"):
            raise SystemExit(f"{path}:{number}: expected `forward|grad NAME REASON`: {line!r}")
        if parts[0] == ("grad" if grad else "forward"):
            found[parts[1]] = parts[2]
    return found


def verdict(status: str, known: bool) -> str:
    """What a case's status means for the suite: ok, known, FAILED or PASSES (though listed)."""
    if status in ("ok", "skipped"):
        return "PASSES" if known and status == "ok" else status
    return "known" if known else "FAILED"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grad", action="store_true", help="also the gradients of the inputs")
    parser.add_argument("--ops", default="", metavar="REGEX", help="only operators that match")
    parser.add_argument("--stride", type=int, default=1, metavar="N", help="every Nth case")
    parser.add_argument("--samples", type=int, default=3, help="of each operator (default 3)")
    parser.add_argument("--limit", type=float, default=60, metavar="S", help="per case, seconds")
    parser.add_argument("--known", type=Path, default=HERE / "known_failures.txt")
    parser.add_argument("--json", type=Path, metavar="PATH", help="writes every result there")
    parser.add_argument("--all", action="store_true", help="prints the cases that pass, too")
    return parser.parse_args()


def select_names(args: argparse.Namespace) -> list[str]:
    import cases

    names = [n for n in cases.names(args.grad) if re.search(args.ops, n)]
    return names[:: args.stride]


def main() -> int:
    args = parse()
    known = known_failures(args.known, args.grad)
    names, tally, results = select_names(args), Counter(), {}
    start = time.monotonic()
    for name, status, text, seconds in run_cases(names, args):
        result = verdict(status, name in known)
        tally[result] += 1
        results[name] = {"status": status, "message": text, "seconds": round(seconds, 3)}
        if args.all or result in ("FAILED", "PASSES"):
            print(f"{result:8} {name:44} {status:8} {text[:160]}", flush=True)
        elif result == "known":
            print(f"{result:8} {name:44} {status:8} {known[name][:160]}", flush=True)
    if args.json:
        args.json.write_text(json.dumps(results, indent=0) + "\n")
    passed = tally["ok"] + tally["PASSES"]
    print(
        f"opinfo {'gradients' if args.grad else 'forward'}: {passed} of {len(names)} operators "
        f"pass, {tally['known']} fail as listed, "
        f"{tally['skipped']} skipped (the CPU refuses their samples), "
        f"{tally['FAILED']} fail unlisted, {tally['PASSES']} listed ones pass, "
        f"{time.monotonic() - start:.0f} s"
    )
    return 1 if tally["FAILED"] or tally["PASSES"] or not names else 0


if __name__ == "__main__":
    sys.exit(main())
