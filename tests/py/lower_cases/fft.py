"""Cases for src/lower/rules/fft.c: (overload, arguments, keywords[, options])."""

import torch

CASES = []
_R, _C, _RD, _CD = torch.float32, torch.complex64, torch.float64, torch.complex128


def _case(name, make, **kwargs):
    CASES.append(("aten::" + name, make, kwargs, {"rtol": 1e-4, "atol": 1e-4}))


def _r(*shape, dtype=_R):
    return torch.randn(shape, dtype=dtype)


for _c, _x in ((_C, _R), (_CD, _RD)):
    for _mode in (0, 1, 2):
        for _forward in (True, False):
            _case(
                "_fft_c2c", lambda c=_c, m=_mode, f=_forward: (_r(3, 5, 8, dtype=c), [2, 0], m, f)
            )
        _case("_fft_r2c", lambda x=_x, m=_mode: (_r(3, 5, 8, dtype=x), [0, 2], m, True))
        _case("_fft_r2c", lambda x=_x, m=_mode: (_r(3, 5, 7, dtype=x), [1, 2], m, False))
        _case("_fft_c2r", lambda c=_c, m=_mode: (_r(3, 5, 6, dtype=c), [0, 2], m, 11))
        _case("_fft_c2r", lambda c=_c, m=_mode: (_r(3, 6, 4, dtype=c), [1], m, 10))
_case("_fft_c2c", lambda: (_r(2, 3, 4, 5, dtype=_C), [3, 2, 0, 1], 1, True))
_case("_fft_c2c", lambda: (_r(3, 4, dtype=_C), [], 0, True))
_case("_fft_c2c", lambda: (_r(1, dtype=_C), [0], 0, False))
_case("_fft_r2c", lambda: (_r(8, 5).t(), [1], 0, True))
_case("_fft_c2r", lambda: (_r(1, dtype=_C), [0], 0, 1))
