"""Cases for src/lower/rules/histogram.c: (overload, arguments, keywords[, options])."""

import torch

CASES = []


def _case(name, make, **kwargs):
    CASES.append(("aten::" + name, make, kwargs, {"rtol": 1e-4, "atol": 1e-5}))


def _r(*shape, dtype=torch.float32):
    return torch.randn(shape, dtype=dtype)


for _density in (False, True):
    for _weight in (False, True):
        _k = {"density": _density}
        _case(
            "histogram.bin_ct",
            lambda: (_r(4, 9), 7),
            weight=_r(4, 9).abs() if _weight else None,
            **_k,
        )
        _case(
            "histogram.bin_ct",
            lambda: (_r(40), 6),
            range=[-1.0, 1.5],
            weight=_r(40).abs() if _weight else None,
            **_k,
        )
        _case(
            "histogram.bins_tensor",
            lambda: (_r(40), torch.tensor([-2.0, -0.5, 0.1, 3.0])),
            weight=_r(40).abs() if _weight else None,
            **_k,
        )
        _w = _r(30).abs() if _weight else None
        _case("_histogramdd_from_bin_cts", lambda: (_r(30, 3), [2, 3, 4]), weight=_w, **_k)
        _case(
            "_histogramdd_from_bin_tensors",
            lambda: (_r(30, 2), [torch.tensor([-2.0, 0.0, 1.0]), torch.linspace(-3, 3, 5)]),
            weight=_w,
            **_k,
        )
_case("histogram.bin_ct", lambda: (_r(), 3))
_case("histogram.bin_ct", lambda: (_r(0), 3))
_case("histogram.bin_ct", lambda: (torch.tensor([1.0, 2.0, 3.0, 4.0]), 3))
_case("histogram.bin_ct", lambda: (_r(50, dtype=torch.float64), 40))
_case(
    "histogram.bins_tensor",
    lambda: (torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0]), torch.tensor([1.0, 2.0, 3.0])),
)
_case("_histogramdd_bin_edges", lambda: (_r(30, 3), [2, 3, 4]))
_case("_histogramdd_bin_edges", lambda: (_r(5, 6, 2), [2, 3]), range=[-1.0, 1.0, 0.0, 2.0])
_case("_histogramdd_from_bin_cts", lambda: (_r(5, 6, 2), [2, 3]), range=[-1.0, 1.0, 0.0, 2.0])
