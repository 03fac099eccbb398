"""Writes docs/ops.md: every rule, the file it stands in, and the overloads it serves.

python tools/gen_ops_md.py [--check]
"""

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES, OUT = ROOT / "src/lower/rules", ROOT / "docs/ops.md"


def families() -> dict[str, list[str]]:
    """Return the overloads of each family's table."""
    found = {}
    for name in re.findall(r"^X\((\w+)\)", (RULES.parent / "families.def").read_text(), re.M):
        text = (RULES / f"{name}.def").read_text()
        found[name] = re.findall(r'^X\(\s*"aten::([^"]+)"', text, re.M)
    return found


def forms(overloads: Path) -> dict[str, list[str]]:
    """Return the overloads that each rule serves besides its own."""
    served = defaultdict(list)
    for name, rule in re.findall(
        r'^OVERLOAD\("aten::([^"]+)", "aten::([^"]+)"', overloads.read_text(), re.M
    ):
        if name != rule:
            served[rule].append(name)
    return served


def render(overloads: Path) -> str:
    """Return the page."""
    all_families, served = families(), forms(overloads)
    rules = sum(map(len, all_families.values()))
    rows = len(re.findall(r"^OVERLOAD\(", overloads.read_text(), re.M))
    lines = [
        "# Operators",
        "",
        f"Made by `tools/gen_ops_md.py` from the tables: {rules} rules, which serve "
        f"{rows} overloads of ATen. An overload that is not here",
        "runs PyTorch's own decomposition or raises `NotImplementedError`.",
    ]
    for family, names in all_families.items():
        lines += ["", f"## {family}", "", "| rule | also serves |", "|---|---|"]
        lines += [f"| {name} | {', '.join(served.get(name, []))} |" for name in names]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or say whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--overloads", type=Path, default=ROOT / "build/generated/overloads.inc")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = render(args.overloads)
    if args.check:
        if OUT.read_text() != text:
            print("docs/ops.md is out of date: run tools/gen_ops_md.py", file=sys.stderr)
            return 1
        return 0
    OUT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
