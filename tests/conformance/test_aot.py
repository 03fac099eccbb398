"""``make aot``: the program of every case of every rule, compiled for a TPU that is not there.

TT_AOT_EVERY=n takes every n-th case, TT_AOT_PROGRAMS=folder programs that are there already.
"""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "aot"))

import programs

EVERY = int(os.environ.get("TT_AOT_EVERY", "1"))

pytestmark = [
    pytest.mark.skipif(programs.library() is None, reason="libtpu is not installed"),
    pytest.mark.skipif(not programs.TOOL.exists(), reason=f"not built: {programs.TOOL}"),
]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    folder = Path(os.environ.get("TT_AOT_PROGRAMS", "") or tmp_path_factory.mktemp("programs"))
    if not list(folder.glob("*.mlir")):
        programs.make(folder, EVERY)
    paths = sorted(folder.glob("*.mlir"))
    assert len(paths) > 1000 // EVERY, f"only {len(paths)} programs were made"
    return programs.compile_all(paths)


def test_programs_compile(outcomes):
    known = programs.known()
    bad = [o for o in outcomes if not o.ok and not any(k.matches(o) for k in known)]
    text = "".join(f"{o.path.name}: {o.message[:500]}\n" for o in bad)
    slow = sorted(outcomes, key=lambda o: -o.seconds)[:10]
    print(f"{len(outcomes)} programs, {sum(o.seconds for o in outcomes):.0f} s of compilation")
    print("slowest:", ", ".join(f"{o.overload} {o.seconds:.1f} s" for o in slow))
    assert not bad, f"{len(bad)} of {len(outcomes)} fail:\n{text}"


@pytest.mark.skipif(EVERY != 1, reason="a sample cannot tell that a known failure is gone")
def test_known_failures_still_fail(outcomes):
    gone = [k for k in programs.known() if not any(k.matches(o) for o in outcomes if not o.ok)]
    assert not gone, f"these compile now, so take them off {programs.KNOWN.name}: {gone}"
