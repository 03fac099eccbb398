"""Programs of the rules for libtpu: makes them, compiles them, reads the list of known failures."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("TT_BUILD", "") or ROOT / "build")
TOOL = BUILD / "tests/conformance/aot/tt_aot"
KNOWN = Path(__file__).parent / "known_failures.txt"
TOPOLOGY = os.environ.get("TT_AOT_TOPOLOGY", "v6e:2x2")
CHUNK = 25  # programs a process: one that hangs costs no more


class Outcome(NamedTuple):
    """What became of one program."""

    path: Path
    ok: bool
    seconds: float
    message: str

    @property
    def overload(self) -> str:
        """``"add.Tensor"`` of ``000012.add.Tensor.mlir``."""
        return self.path.name.split(".", 1)[1].removesuffix(".mlir")


def library() -> str | None:
    """Return libtpu's file, or None where the package is not installed."""
    try:
        import libtpu
    except ImportError:
        return None
    return libtpu.get_library_path()


def make(folder: Path, every: int) -> None:
    """Write the programs of every ``every``-th case of tests/py/lower_cases to ``folder``."""
    tests = ROOT / "tests/py/test_rules.py"
    env = {
        **os.environ,
        "TORCH_TPU_DUMP": str(folder),
        "TT_RULES_EVERY": str(every),
        "TT_ALL_RULES": "",
    }
    env["TORCH_TPU_CACHE_DIR"] = str(folder / "cache")  # nothing may come from an earlier run
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{tests} fails, so programs are missing:\n{done.stdout[-2000:]}")


def _compile(paths: list[Path], timeout: float) -> list[Outcome]:
    command = [str(TOOL), library(), TOPOLOGY]
    text = "".join(f"{p}\n" for p in paths)
    env = {**os.environ, "TPU_STDERR_LOG_LEVEL": "3", "TPU_MIN_LOG_LEVEL": "3"}
    try:
        done = subprocess.run(
            command,
            input=text,
            env=env,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        output, end = (
            done.stdout,
            f"the compiler ended with {done.returncode}: {done.stderr[-300:]}",
        )
    except subprocess.TimeoutExpired as error:
        output, end = (error.stdout or b"").decode(), f"not done in {timeout:.0f} s"
    outcomes = [_outcome(line) for line in output.splitlines()]
    if len(outcomes) < len(paths):
        outcomes.append(Outcome(paths[len(outcomes)], False, timeout, end))
        outcomes += _compile(paths[len(outcomes) :], timeout) if len(outcomes) < len(paths) else []
    return outcomes


def _outcome(line: str) -> Outcome:
    word, seconds, rest = line.split(" ", 2)
    path, _, message = rest.partition(": ")
    return Outcome(Path(path), word == "ok", float(seconds), message)


def compile_all(paths: list[Path], timeout: float = 300) -> list[Outcome]:
    """Compile the programs, in as many processes as there are cores."""
    chunks = [paths[i : i + CHUNK] for i in range(0, len(paths), CHUNK)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return [
            o for outcomes in pool.map(lambda c: _compile(c, timeout), chunks) for o in outcomes
        ]


class Known(NamedTuple):
    """A line of the list of known failures."""

    overload: str
    message: str
    reason: str

    def matches(self, outcome: Outcome) -> bool:
        """Whether the outcome is this failure."""
        return self.overload in ("*", outcome.overload) and self.message in outcome.message


def known() -> list[Known]:
    """Return the list of known failures."""
    lines = [line for line in KNOWN.read_text().splitlines() if line and not line.startswith("#")]
    return [Known(*line.split("\t")) for line in lines]
