"""Figures of several rounds, as ratios and as a table."""

from statistics import median
from typing import Any

# In a round every system measures once, so that a ratio compares neighbours in time.
Round = dict[str, dict[str, Any]]  # system -> figure -> clocks


def ratio(rounds: list[Round], figure: str, peer: str, clock: str) -> float | None:
    """Return the median over the rounds of ours by the peer's."""
    found = []
    for one in rounds:
        ours, theirs = (one.get(s, {}).get(figure, {}).get(clock) for s in ("ours", peer))
        if ours is not None and theirs:
            found.append(ours / theirs)
    return median(found) if found else None


def typical(rounds: list[Round], figure: str, system: str, clock: str) -> float | None:
    """Return the median over the rounds."""
    found = [one.get(system, {}).get(figure, {}).get(clock) for one in rounds]
    found = [f for f in found if f is not None]
    return median(found) if found else None


def rows(rounds: list[Round]) -> list[dict[str, Any]]:
    """Return one row a figure of ours, with every ratio there is."""
    out = []
    for figure, clocks in next((r["ours"] for r in rounds if "ours" in r), {}).items():
        if "losses" in clocks:
            continue
        clock = "wall" if "wall" in clocks else "value"
        row = {"figure": figure, "clock": clock}
        for system in ("ours", "cpu", "official"):
            row[system] = typical(rounds, figure, system, clock)
        for peer in ("cpu", "official"):
            row[f"by {peer}"] = ratio(rounds, figure, peer, clock)
            row[f"cpu time by {peer}"] = ratio(rounds, figure, peer, "cpu")
        out.append(row)
    return out


def against_torch(rounds: list[Round]) -> list[dict[str, Any]]:
    """Return our import beside torch's own: the one peer that is always there."""
    laps = [r["ours"] for r in rounds if "import backend" in r.get("ours", {})]
    if not laps:
        return []
    by = {
        clock: median(one["import backend"][clock] / one["import torch"][clock] for one in laps)
        for clock in ("wall", "cpu")
    }
    return [
        {
            "figure": "import backend / import torch",
            "clock": "wall",
            "ours": median(one["import backend"]["wall"] for one in laps),
            "cpu": median(one["import torch"]["wall"] for one in laps),
            "by cpu": by["wall"],
            "cpu time by cpu": by["cpu"],
        }
    ]


def losses(rounds: list[Round]) -> list[dict[str, Any]]:
    """Return, for each network, how far the losses are from the CPU's, and whether runs agree."""
    out = []
    names = {f for r in rounds for f, c in r.get("ours", {}).items() if "losses" in c}
    for figure in sorted(names):
        row: dict[str, Any] = {"figure": figure}
        cpu = next((r["cpu"][figure]["losses"] for r in rounds if figure in r.get("cpu", {})), None)
        for system in ("ours", "official"):
            runs = [r[system][figure]["losses"] for r in rounds if figure in r.get(system, {})]
            if runs and cpu:
                row[system] = max(
                    abs(a - b) / abs(b) for run in runs for a, b in zip(run, cpu, strict=True)
                )
            if len(runs) > 1:
                row[f"{system} same"] = all(run == runs[0] for run in runs)
        out.append(row)
    return out


def number(value: float | None, clock: str = "") -> str:
    """Return it with a unit that suits its size."""
    if value is None:
        return "-"
    if clock == "value":
        return f"{value:.0f} MB"
    if clock == "":
        return (
            f"{value:.2f}"
            if 0.1 <= value < 100
            else f"{value:.0f}"
            if value > 1
            else f"{value:.1e}"
        )
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def table(title: list[str], lines: list[list[str]]) -> str:
    """Lay the cells out in columns."""
    widths = [max(len(line[i]) for line in [title, *lines]) for i in range(len(title))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in [title, *lines]
    )


def text(result: dict[str, Any]) -> str:
    """Return the whole report."""
    systems, ratios = (
        ["ours", "PyTorch CPU", "Google"],
        ["ours/CPU", "(cpu)", "ours/Google", "(cpu)"],
    )
    lines = [
        [row["figure"]]
        + [number(row.get(system), row["clock"]) for system in ("ours", "cpu", "official")]
        + [
            number(row.get(key))
            for key in ("by cpu", "cpu time by cpu", "by official", "cpu time by official")
        ]
        for row in result["rows"]
    ]
    parts = [table(["", *systems, *ratios], lines)] if lines else []
    if result["losses"]:
        same = {True: "same", False: "differ", None: "-"}
        far = [
            [row["figure"]]
            + [f"{row[s]:.1e}" if row.get(s) is not None else "-" for s in ("ours", "official")]
            + [same[row.get(f"{s} same")] for s in ("ours", "official")]
            for row in result["losses"]
        ]
        heads = ["farthest from the CPU's", "ours", "Google", "processes: ours", "Google"]
        parts.append(table(heads, far))
    load = result["load"]
    parts.append(
        f"{result['rounds']} rounds, load average {min(load):.1f} to {max(load):.1f} on "
        f"{result['cores']} cores"
    )
    return "\n\n".join(parts)
