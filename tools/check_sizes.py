"""Check the longest functions and files of src/: none over 120 lines, no file over 1500.

A function runs from the line that opens its body at the margin to the ``}`` at the margin, as
clang-format lays it. With --report prints how many are over 60 lines, and the longest ones.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUNCTION_LIMIT, FILE_LIMIT = 120, 1500
# A line at the margin that opens a body; types and tables open with one of these words or with `=`.
OPENS = re.compile(r"^(?!typedef|struct|enum|union|namespace|extern|class)[A-Za-z ].*\)[^=;]*\{$")


def functions(lines: list[str]) -> list[tuple[int, int]]:
    """Return (first line, number of lines) of each function."""
    found, start = [], None
    for number, line in enumerate(lines, 1):
        if start is None and OPENS.match(line):
            start = number
        elif start is not None and line.startswith("}"):
            found.append((start, number - start + 1))
            start = None
    return found


def main() -> int:
    offences, lengths = [], []
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in {".c", ".h", ".cpp"}:
            continue
        name = path.relative_to(ROOT)
        lines = path.read_text().splitlines()
        if len(lines) > FILE_LIMIT:
            offences.append(f"{name}: {len(lines)} lines, over {FILE_LIMIT}")
        for start, length in functions(lines):
            lengths.append((length, f"{name}:{start}"))
            if length > FUNCTION_LIMIT:
                offences.append(
                    f"{name}:{start}: function of {length} lines, over {FUNCTION_LIMIT}"
                )
    if "--report" in sys.argv:
        over = sum(length > 60 for length, _ in lengths)
        print(f"{len(lengths)} functions, {over} over 60 lines")
        for length, where in sorted(lengths, reverse=True)[:10]:
            print(f"{length:5} {where}")
    print("\n".join(offences), end="\n" if offences else "")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
