"""Writes the table that ties PyTorch's overloads to the rules of src/lower.

    python tools/gen_overloads.py --rules src/lower/rules --out build/generated/overloads.inc

A rule lowers a functional overload. In-place, `out=` and other mutating overloads have no rules of
their own: this script finds, in the schemas of the installed torch, which functional overload each
of them is a form of, which argument receives which result, and what the overload returns. The
bridge registers one kernel for each row.

A row: OVERLOAD(name, rule, types, args, results, targets, returns_count, returns) where
    types    a letter for each argument of the rule: see TYPES
    args     for each argument of the rule, where it stands in the overload's, -1 for its default
    results  a letter for each result of the rule: see RESULTS
    targets  for each result of the rule, the argument that receives it, or -1 for a new tensor
    returns  for each result of the overload: k >= 0 result k of the rule; -1-k argument k
"""

import argparse
import re
import sys
from pathlib import Path

import torch

# T tensor, S number (may become a parameter), i fixed number, d dtype, s string, v device, o other,
# g generator; lists: L tensors, R numbers, F fixed numbers
TYPES = {
    "Tensor": "T",
    "number": "S",
    "float": "S",
    "int": "i",
    "bool": "i",
    "ScalarType": "d",
    "str": "s",
    "Generator": "g",
    "List[Tensor]": "L",
    "List[Optional[Tensor]]": "L",
    "List[int]": "F",
    "List[float]": "F",
    "List[bool]": "F",
    "List[number]": "R",
    "Layout": "o",
    "Device": "v",
    "MemoryFormat": "o",
    "Dimname": "o",
    "Storage": "o",
    "Stream": "o",
}
# T tensor, L list of tensors, B tensor that is read as a bool, i int
RESULTS = {"Tensor": "T", "List": "L", "bool": "B", "int": "i"}
TENSOR_OPTIONS = {"dtype", "layout", "device", "pin_memory"}
# Mutating overloads whose functional form has another name, or whose schema does not say that they
# mutate: {overload: (rule, {result of the rule: argument that receives it})}; None: as the schema
# says.
OTHER_NAMES = {
    "aten::native_batch_norm": ("aten::_native_batch_norm_legit_functional", {3: 3, 4: 4}),
    "aten::normal_": ("aten::normal_functional", None),
    "aten::_native_batch_norm_legit": ("aten::_native_batch_norm_legit_functional", None),
    "aten::_batch_norm_with_update": ("aten::_batch_norm_with_update_functional", None),
    "aten::rrelu_with_noise": ("aten::rrelu_with_noise_functional", None),
}


def rule_names(folder):
    names = []
    for path in sorted(folder.glob("*.def")):
        names += re.findall(r'^X\(\s*"([^"]+)"', path.read_text(), re.M)
    return names


def schemas():
    """All aten schemas by full name."""
    found, dispatched = {}, set(torch._C._dispatch_get_all_op_names())
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        if schema.name.startswith("aten::") and name in dispatched:
            found[name] = schema
    return found


def letter(argument):
    kind = argument.real_type if hasattr(argument, "real_type") else argument.type
    text = str(kind)
    text = re.sub(r"Optional\[(.*)\]$", r"\1", text) if text.startswith("Optional[") else text
    text = text.replace("SymInt", "int").replace("SymBool", "bool")
    return TYPES.get(text)


def writes(argument):
    return argument.alias_info is not None and argument.alias_info.is_write


def plain_arguments(schema):
    """Arguments other than out= ones, as (name, letter)."""
    return [
        (i, a.name, letter(a))
        for i, a in enumerate(schema.arguments)
        if not (a.is_out or (a.kwarg_only and writes(a)))
    ]


def argument_map(rule, overload):
    """Where each of the rule's arguments stands in the overload; None when the two do not fit."""
    mine = {name: (i, kind) for i, name, kind in plain_arguments(overload)}
    places = []
    for argument in rule.arguments:
        place = mine.pop(argument.name, None)
        if place is None:
            if argument.name not in TENSOR_OPTIONS:
                return None
            places.append(-1)
            continue
        if place[1] != letter(argument):
            return None
        places.append(place[0])
    return None if mine else places


def targets_of(rule, overload):
    """For each result of the rule, the argument of the overload that receives it."""
    mutated = [i for i, a in enumerate(overload.arguments) if writes(a)]
    mutated.sort(
        key=lambda i: not overload.arguments[i].is_out
    )  # functional forms give what is mutated last
    count = len(rule.returns)
    if not mutated:
        return [-1] * count
    new = count - len(mutated)
    return None if new < 0 else [-1] * new + mutated


def returns_of(overload, targets):
    """For each result of the overload: an argument (-1 - k) or a result of the rule."""
    by_alias = {}
    for i, argument in enumerate(overload.arguments):
        if writes(argument):
            for name in argument.alias_info.before_set:
                by_alias[name] = i
    out, new = [], iter(k for k, t in enumerate(targets) if t < 0)
    for result in overload.returns:
        if result.alias_info is not None and result.alias_info.is_write:
            out.append(-1 - by_alias[next(iter(result.alias_info.before_set))])
        else:
            k = next(new, None)
            if k is None:
                return None
            out.append(k)
    return out


def base_name(name):
    """`aten::add_.Tensor` -> `aten::add`: what the forms of one operator have in common."""
    plain = name.split(".")[0]
    return plain[:-1] if plain.endswith("_") and not plain.endswith("__") else plain


def decomposes(name):
    """Whether the overload never reaches a device: a kernel there would lose its gradient."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return has(name, "CompositeImplicitAutograd") and not has(name, "Autograd")


def row(name, overload, rule_name, rule, hidden):
    places, targets = argument_map(rule, overload), targets_of(rule, overload)
    if hidden is not None:
        targets = [hidden.get(k, -1) for k in range(len(rule.returns))]
    if places is None or targets is None:
        return None
    returns = returns_of(overload, targets)
    types = [letter(a) for a in rule.arguments]
    results = [
        RESULTS.get(str(r.type).replace("SymInt", "int").split("[")[0], "T") for r in rule.returns
    ]
    if returns is None or None in types:
        return None

    def braces(values):
        return "(" + (", ".join(map(str, values)) or "0") + ")"  # C has no empty array

    return (
        f'OVERLOAD("{name}", "{rule_name}", "{"".join(types)}", {braces(places)}, '
        f'"{"".join(results)}", '
        f"{braces(targets)}, {len(returns)}, {braces(returns)})"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rules", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    rules, known = rule_names(args.rules), schemas()
    missing = [r for r in rules if r not in known]
    by_base = {}
    for name in rules:
        if name in known:
            by_base.setdefault(name.split(".")[0], []).append(name)
    rows, composite = {}, []
    for name, overload in sorted(known.items()):
        rule, hidden = (name, None) if name in rules else (None, None)
        key = name.split(".")[0]
        candidates = [rule] if rule else by_base.get(base_name(name), [])
        if (
            key in OTHER_NAMES
            and (name not in rules or name == key)
            and OTHER_NAMES[key][0] in known
        ):
            candidates, hidden = (
                [r for r in by_base.get(OTHER_NAMES[key][0], [])],
                OTHER_NAMES[key][1],
            )
        if not rule and hidden is None and not any(writes(a) for a in overload.arguments):
            continue
        for candidate in candidates:
            text = row(name, overload, candidate, known[candidate], hidden)
            if text is None:
                continue
            if decomposes(name):
                if name in rules:
                    composite.append(name)
                break
            rows[name] = text
            break
        if name in rules and name not in rows and name not in composite:
            sys.exit(
                f"gen_overloads: the schema of {name} has a type that no rule can take: {overload}"
            )
    for name in composite:
        print(
            f"gen_overloads: {name} decomposes before it reaches a device; its rule serves others",
            file=sys.stderr,
        )
    for name in missing:
        print(f"gen_overloads: this torch has no {name}", file=sys.stderr)
    text = (
        "/* Made by tools/gen_overloads.py from the rules and the schemas of torch "
        + torch.__version__
        + ". */\n"
    )
    text += "\n".join(rows[name] for name in sorted(rows)) + "\n"
    args.out.parent.mkdir(parents=True, exist_ok=True)
    if not args.out.exists() or args.out.read_text() != text:
        args.out.write_text(text)
    print(f"gen_overloads: {len(rows)} overloads of {len(rules)} rules")


if __name__ == "__main__":
    main()
