"""Writes the table of PyTorch's structured kernels that the device has a rule for.

    python tools/gen_structured.py --rules src/lower/rules --out build/generated/structured.inc

A structured operator has one C++ function that checks its arguments and says what it returns, which
its CPU kernel calls first; torch's headers declare it as ``at::meta::NAME``. On the Meta dispatch
key a Python function of torch._refs, a hundred times slower, stands before it for most of them.

The file holds the headers, where STRUCTURED is not defined, and else for each overload
    STRUCTURED("aten::add.Tensor", add_Tensor, add)
which name the schema in at::_ops and the function in at::meta.
"""

import argparse
import re
import sys
from pathlib import Path

import torch
from gen_overloads import rule_names

HEADERS = Path(torch.__file__).parent / "include/ATen/ops"
# Those that say something else than the operator returns (isin: the sizes [0] for a scalar), or
# that leave it to the kernel to refuse (dtypes, gelu's `approximate`): others answer for them.
WRONG = {
    "aten::isin.Scalar_Tensor",
    "aten::index_add",
    *("aten::mm", "aten::bmm", "aten::gelu", "aten::mse_loss", "aten::leaky_relu"),
    *("aten::softshrink", "aten::frac"),
    *(f"aten::replication_pad{rank}d" for rank in (1, 2, 3)),
}
SCHEMA = re.compile(r"^struct TORCH_API (\w+) \{\s+using schema = ([^;]+);", re.M)
FUNCTION = re.compile(r"^TORCH_API (.+?) (\w+)\((.*)\);$", re.M)


def split(parameters):
    """Split at the commas outside ``<>`` and ``()``."""
    parts, depth = [""], 0
    for letter in parameters:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def type_of(parameter):
    """`const at::Scalar & alpha=1` -> `const at::Scalar &`."""
    return re.sub(r"\s*\b\w+$", "", parameter.split("=")[0].strip())


def functions(header):
    """Yield (name, type) of each function that a header of at::meta declares."""
    for result, name, parameters in FUNCTION.findall(header.read_text()):
        types = ", ".join(type_of(p) for p in split(parameters))
        yield name, f"{result} ({types})"


def structured(rule):
    """Return the rule's row, or None: its operator is not structured, or has no such overload."""
    name, _, overload = rule.removeprefix("aten::").partition(".")
    header = HEADERS / f"{name}_meta_dispatch.h"
    if not header.exists():
        return None
    schema = f"{name}_{overload}" if overload else name
    wanted = dict(SCHEMA.findall((HEADERS / f"{name}_ops.h").read_text()))[schema]
    for function, kind in functions(header):
        if kind == wanted:
            return f'STRUCTURED("{rule}", {schema}, {function})'
    return None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rules", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    found = {rule: structured(rule) for rule in rule_names(args.rules) if rule not in WRONG}
    rows = {rule: row for rule, row in sorted(found.items()) if row is not None}
    if len(rows) < 200:
        sys.exit(f"gen_structured: only {len(rows)} in {HEADERS}; have the headers changed?")
    names = sorted({rule.removeprefix("aten::").partition(".")[0] for rule in rows})
    text = f"/* Made by tools/gen_structured.py from the rules and torch {torch.__version__}. */\n"
    text += "#ifndef STRUCTURED\n"
    text += "".join(
        f"#include <ATen/ops/{name}_meta_dispatch.h>\n#include <ATen/ops/{name}_ops.h>\n"
        for name in names
    )
    text += "#else\n" + "\n".join(rows.values()) + "\n#endif\n"
    args.out.parent.mkdir(parents=True, exist_ok=True)
    if not args.out.exists() or args.out.read_text() != text:
        args.out.write_text(text)
    print(f"gen_structured: {len(rows)} of {len(found)} rules")


if __name__ == "__main__":
    main()
