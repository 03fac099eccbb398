"""Runs cases by name for run.py: a name on each line of stdin, a JSON reply on each of stdout."""

import json
import os
import sys

import cases

import torch_tpu  # noqa: F401


def main() -> None:
    count, grad = int(sys.argv[1]), sys.argv[2] == "grad"
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what an operator prints is no reply
    cases.operators()
    replies.write('["ready", ""]\n')
    for line in sys.stdin:
        try:
            reply = cases.check(line.strip(), count, grad)
        except Exception as error:
            reply = ("raised", f"{type(error).__name__}: {' '.join(str(error).split())}")
        replies.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
