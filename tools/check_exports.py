"""Check that each library exports one symbol, and that base and hlo have no mutable state.

Usage: check_exports.py BUILD_FOLDER
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SYSTEM = r"libc|libm|libdl|libpthread|libgcc_s|ld-linux-.*"
# Library: what it exports, and what it may need.
LIBRARIES = {
    "torch_tpu/_C*.so": (
        {"PyInit__C"},
        rf"libtorch|libtorch_cpu|libtorch_python|libc10|libstdc\+\+|{SYSTEM}",
    ),
    "torch_tpu/libpjrt_cpu.so": ({"GetPjrtApi"}, SYSTEM),
}
# Archives that two shared libraries each hold a copy of.
STATELESS = ("libtt_base.a", "libtt_hlo.a")


def output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def library_offences(library: Path, exported: set[str], needs: str) -> list[str]:
    lines = output("nm", "-D", "--defined-only", library).splitlines()
    symbols = {line.split()[-1] for line in lines}
    missing = re.findall(r" U (tt_\w+)", output("nm", "-D", "--undefined-only", library))
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", library))
    return (
        [f"{library}: exports {name}" for name in sorted(symbols - exported)]
        + [f"{library}: does not export {name}" for name in sorted(exported - symbols)]
        + [f"{library}: {name} is not defined anywhere" for name in missing]
        + [
            f"{library}: needs {name}"
            for name in needed
            if not re.match(rf"({needs})\.so(\.\d+)?$", name)
        ]
    )


def state_offences(archive: Path) -> list[str]:
    """Constants with addresses in them stand in .data.rel.ro, which the loader makes read-only."""
    found, member = [], ""
    for line in output("size", "-A", archive).splitlines():
        fields = line.split()
        if line.endswith(":") or "(ex " in line:
            member = fields[0]
        elif fields and re.match(r"\.(data|bss|tdata|tbss)(?!\.rel\.ro)", fields[0]):
            if int(fields[1]) > 0:
                found.append(f"{archive}: {member} has {fields[1]} bytes of state in {fields[0]}")
    return found


def main() -> int:
    build = Path(sys.argv[1])
    found = []
    for pattern, (exported, needs) in LIBRARIES.items():
        libraries = list(build.glob(pattern))
        if not libraries:
            found.append(f"{build}/{pattern} is not there: build it first")
        for library in libraries:
            found += library_offences(library, exported, needs)
    for name in STATELESS:
        if (build / "src" / name).exists():
            found += state_offences(build / "src" / name)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
