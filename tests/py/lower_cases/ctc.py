"""Cases for src/lower/rules/ctc.c: (overload, arguments, keywords[, options])."""

import torch

CASES = []


def _args(times, lengths, classes=5, blank=0, padded=True, dtype=torch.float32):
    steps, batch = max(*times, 1), len(times)
    probs = torch.randn(steps, batch, classes, dtype=dtype).log_softmax(-1)
    labels = [c for c in range(classes) if c != blank]
    total = (batch, max(lengths)) if padded else (sum(lengths),)
    targets = torch.tensor(labels)[torch.randint(0, classes - 1, total)]
    return probs, targets, times, lengths, blank


def _loss(*args):
    return torch.ops.aten._ctc_loss(*args)


def _back(zero_infinity, args):
    loss, alpha = _loss(*args)
    probs, targets, times, lengths, blank = args
    return torch.randn_like(loss), probs, targets, times, lengths, loss, alpha, blank, zero_infinity


def _only_loss(*args):
    return _loss(*args)[0]


def _check(args):
    """log alpha is compared where it means something: the CPU leaves the rest as it finds it."""

    def verify(got):
        want = _loss(*args)
        if not torch.allclose(got[0], want[0], rtol=1e-4, atol=1e-4):
            return "loss"
        for n, (t, length) in enumerate(zip(args[2], args[3], strict=True)):
            a, b = (x[n, :t, : 2 * length + 1] for x in (got[1], want[1]))
            if not torch.allclose(a, b, rtol=1e-4, atol=1e-4):
                return f"log alpha of {n}"
        return True

    return verify


def _add(*args, **kwargs):
    torch.manual_seed(len(CASES))
    made = _args(*args, **kwargs)
    CASES.append(("aten::_ctc_loss", lambda: made, {}, {"verify": _check(made)}))
    for zero in (False, True):
        CASES.append(
            (
                "aten::_ctc_loss_backward",
                lambda z=zero: _back(z, made),
                {},
                {"rtol": 1e-3, "atol": 1e-4},
            )
        )


_add([12, 12, 12], [4, 4, 4])
_add([12, 9, 5], [4, 2, 1])
_add([12, 9, 5], [4, 0, 3], padded=False)
_add([10, 8], [3, 5], blank=4)
_add([10, 8], [3, 2], blank=2, dtype=torch.float64)
_add([4, 3], [0, 0])
_add([2, 8], [5, 3])  # too short: no alignment
