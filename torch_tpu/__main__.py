"""``python -m torch_tpu info|doctor|env``."""

import sys

from torch_tpu._internal.cli import main

if __name__ == "__main__":
    sys.exit(main())
