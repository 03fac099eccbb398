"""Check which way #includes go: each module of src/ includes only what LAYERS gives it.

Prints one line an offence and exits 1 if there is any.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Module: the modules that it may include besides itself.
LAYERS = {
    "base": set(),
    "hlo": {"base"},
    "cpu": {"hlo", "base"},
    "pjrt": {"base"},
    "lower": {"hlo", "base"},
    "runtime": {"lower", "pjrt", "hlo", "base"},
    "bridge": {"runtime", "lower", "pjrt", "hlo", "base"},
}
USES_PJRT_HEADER = {"cpu", "pjrt"}
GENERATED = {"bridge": {"overloads.inc", "structured.inc"}}
FOREIGN = re.compile(r"(torch|ATen|c10|pybind11)/|Python\.h$|^[a-z_]+$")  # the last: C++ headers
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)
SOURCES = {".c", ".h", ".def", ".inc", ".cpp"}


def quoted_offence(module: str, target: str) -> str | None:
    """Say what is wrong with ``#include "target"`` in a file of ``module``, or None."""
    if target == "pjrt_c_api.h":
        return None if module in USES_PJRT_HEADER else f"only {sorted(USES_PJRT_HEADER)} may"
    if target in GENERATED.get(module, set()):
        return None
    owner = target.split("/")[0]
    if "/" not in target or owner not in LAYERS:
        return "paths start at src/"
    if owner != module and owner not in LAYERS[module]:
        return f"{module} may include {sorted(LAYERS[module])}"
    if owner != module and target.endswith("_internal.h"):
        return "an _internal.h is for its own module"
    if not (ROOT / "src" / target).exists():
        return "no such file"
    return None


def angled_offence(module: str, target: str) -> str | None:
    """Say what is wrong with ``#include <target>`` in a file of ``module``, or None."""
    if module != "bridge" and FOREIGN.search(target):
        return "PyTorch, Python and C++ headers are for src/bridge"
    return None


def offences(path: Path) -> list[str]:
    module = path.relative_to(ROOT / "src").parts[0]
    if module not in LAYERS:
        return [f"{path.relative_to(ROOT)}: {module} is not in LAYERS of tools/check_layers.py"]
    found = []
    text = path.read_text()
    for match in INCLUDE.finditer(text):
        check = quoted_offence if match[1] == '"' else angled_offence
        wrong = check(module, match[2])
        if wrong:
            line = text.count("\n", 0, match.start(2)) + 1
            found.append(f"{path.relative_to(ROOT)}:{line}: includes {match[2]}: {wrong}")
    return found + guard_offence(path, text)


def guard_offence(path: Path, text: str) -> list[str]:
    if path.suffix != ".h":
        return []
    parts = [re.sub(r"\W", "_", part).upper() for part in path.relative_to(ROOT / "src").parts]
    # hlo/hlo_internal.h may say HLO once.
    guards = {"TT_" + "_".join(parts), "TT_" + parts[-1]}
    if any(f"#ifndef {guard}\n#define {guard}\n" in text for guard in guards):
        return []
    return [f"{path.relative_to(ROOT)}: the include guard is none of {sorted(guards)}"]


def main() -> int:
    files = sorted(p for p in (ROOT / "src").rglob("*") if p.suffix in SOURCES)
    found = [line for path in files for line in offences(path)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
