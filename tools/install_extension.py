"""Put a freshly built torch_tpu/_C into the source tree, if it differs from what is there.

The file is replaced, not overwritten: a process that runs the old one keeps it.
"""

import filecmp
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def install(built: Path, folder: Path) -> None:
    target = folder / built.name
    if target.exists() and filecmp.cmp(built, target, shallow=False):
        return
    new = target.with_name(target.name + f".new-{os.getpid()}")
    shutil.copy2(built, new)
    os.replace(new, target)
    print(f"installed {target}")


if __name__ == "__main__":
    for path in Path(sys.argv[1]).glob("torch_tpu/_C*.so"):
        install(path, ROOT / "torch_tpu")
