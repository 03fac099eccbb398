"""StableHLO's reference interpreter in a process of its own: some programs make it abort.

Takes pickles of ``(text, [(tensor type, array)])`` and answers with a list of arrays, or with a
message. ``Interpreter`` is the other end.
"""

import os
import pickle
import struct
import subprocess
import sys


class Interpreter:
    """Asks the interpreter, in as many processes, one after the other, as it takes."""

    def __init__(self):
        self.process = None

    def ask(self, text, types, inputs):
        """The program's results; None where the interpreter has no answer."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "JAX_PLATFORMS": "cpu"},
            )
        try:
            send(self.process.stdin, (text, list(zip(types, inputs, strict=True))))
            answer = receive(self.process.stdout)
        except (OSError, EOFError):
            self.process.kill()
            self.process.wait()
            return None
        return answer


def send(to, what):
    data = pickle.dumps(what)
    to.write(struct.pack("<q", len(data)) + data)
    to.flush()


def receive(source):
    head = source.read(8)
    if len(head) < 8:
        raise EOFError
    return pickle.loads(source.read(struct.unpack("<q", head)[0]))


def main():
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import numpy as np
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    def attribute(text, x):
        kind = ir.RankedTensorType.parse(text)
        if x.dtype == bool:
            items = [ir.BoolAttr.get(bool(b)) for b in x.ravel()]
            return ir.DenseElementsAttr.get(items, kind)
        return ir.DenseElementsAttr.get(
            x.copy(order="C"), type=kind.element_type, shape=list(x.shape)
        )

    while True:
        try:
            text, inputs = receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            with mlir.make_ir_context(), ir.Location.unknown():
                module = ir.Module.parse(text)
                given = [attribute(t, x) for t, x in inputs]
                results = stablehlo.eval_module(module, given)
                answer = [np.array(r) for r in results]
        except Exception as e:
            answer = str(e)[:300]
        send(answers, answer)


if __name__ == "__main__":
    main()
