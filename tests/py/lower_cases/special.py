"""Cases of the rules for special functions: (overload, arguments, keyword arguments, options)."""

import math

import torch

INF, NAN = math.inf, math.nan
CASES = []


def add(overload, make, options=None, **kwargs):
    CASES.append(("aten::" + overload, make, kwargs, options or {}))


def points(low, high, specials=(), dtype=torch.float32, count=41):
    return torch.cat(
        [
            torch.linspace(low, high, count, dtype=torch.float64),
            torch.tensor(specials, dtype=torch.float64),
        ]
    ).to(dtype)


def unary(name, low, high, specials=(), rtol=2e-5, atol=1e-6, wide_rtol=1e-7, half=False):
    add(name, lambda: (points(low, high, specials),), {"rtol": rtol, "atol": atol})
    add(
        name,
        lambda: (points(low, high, specials, torch.float64),),
        {"rtol": wide_rtol, "atol": 1e-9},
    )
    if half:
        add(name, lambda: (points(low, high, (), torch.bfloat16),))
    add(name, lambda: (torch.arange(1, 6),), {"rtol": rtol, "atol": atol})
    add(name, lambda: (torch.rand(2, 0),))


ALL = (-INF, -0.0, 0.0, INF, NAN)
unary("erf", -5, 5, ALL, half=True)
unary("erfc", -5, 9, ALL, half=True)
unary("erfinv", -0.999, 0.999, (-1, 1, 2, NAN), half=True)
unary("lgamma", -4.7, 30, (*ALL, 1e10, 1, 2), rtol=1e-4, atol=1e-5, half=True)
unary("digamma", -4.7, 30, (0.0, -0.0, INF, NAN, 1e6), rtol=1e-4, atol=1e-5, half=True)
for n in (0, 1, 2, 3):
    add("polygamma", lambda n=n: (n, points(0.1, 20)), {"rtol": 1e-4})
add("polygamma", lambda: (1, points(-3.7, 0.45)), {"rtol": 1e-3})
add("mvlgamma", lambda: (points(3.1, 20), 3), {"rtol": 1e-4})
unary("special_entr", -1, 3, ALL, half=True)
unary("special_erfcx", -4, 30, (-INF, 1e3, INF, NAN))
unary("special_log_ndtr", -30, 8, (-INF, -1e4, INF, NAN))
unary("special_spherical_bessel_j0", -20, 20, (0.0, INF, NAN, 1e-4))
add(
    "special_zeta",
    lambda: (points(1.1, 10)[:, None], points(0.5, 5, (), torch.float32, 7)),
    {"rtol": 1e-4},
)
add("special_zeta.other_scalar", lambda: (points(1.1, 10), 2.0), {"rtol": 1e-4})
add("special_zeta.self_scalar", lambda: (3, points(0.5, 5)), {"rtol": 1e-4})
for name in ("i0", "special_modified_bessel_i0", "special_i1", "special_modified_bessel_i1"):
    unary(name, -30, 30, ALL, rtol=5e-5)
for name in ("special_i0e", "special_i1e"):
    unary(name, -100, 100, (*ALL, 1e6))
for name in ("special_modified_bessel_k0", "special_modified_bessel_k1"):
    unary(name, 0.05, 40, (0.0, -1.0, 2.0, INF, NAN), atol=1e-25, rtol=5e-5)
for name in ("special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1"):
    unary(name, 0.05, 40, (0.0, -1.0, 2.0, 1e4, NAN))
# PyTorch itself is exact to about 1e-6 only beyond x = 5, in float64 too.
for name in ("special_bessel_j0", "special_bessel_j1"):
    unary(name, -40, 40, ALL, atol=2e-6, wide_rtol=1e-5)
for name in ("special_bessel_y0", "special_bessel_y1"):
    unary(name, 0.05, 40, (0.0, -1.0, INF, NAN), atol=2e-6, wide_rtol=1e-5)
unary("special_airy_ai", -20, 12, ALL, rtol=1e-4, atol=2e-6, wide_rtol=2e-5)
unary("special_ndtri", 0.001, 0.999, (0, 1, -0.5, 2, 1e-10, 1e-30, NAN), rtol=3e-5)

# ---- of two: incomplete gamma functions and orthogonal polynomials ----
for name in ("igamma", "igammac"):
    add(
        name,
        lambda: (
            points(0.0, 30, (INF, -1.0, 0.01), count=31)[:, None],
            points(0.0, 40, (INF, -1.0, 1e-3), count=21),
        ),
        {"rtol": 1e-4, "atol": 1e-6},
    )
    add(
        name,
        lambda: (
            points(0.1, 30, (), torch.float64, 31)[:, None],
            points(0.1, 40, (), torch.float64, 21),
        ),
        {"rtol": 1e-9},
    )
    add(
        name,
        lambda: (torch.tensor([300.0, 1000.0]), torch.tensor([[290.0], [310.0], [1010.0]])),
        {"rtol": 1e-3, "atol": 1e-5},
    )
POLYNOMIALS = """chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w""".split()
for name in POLYNOMIALS:
    add(
        "special_" + name,
        lambda: (points(-1.2, 1.2, (-1, 1, 0), count=15)[:, None], torch.arange(-2, 11)),
        {"rtol": 1e-3, "atol": 1e-4},
    )
    add(
        "special_" + name,
        lambda: (points(-1.2, 1.2, (), torch.float64, 15), torch.tensor(7)),
        {"rtol": 1e-7},
    )
    add(
        "special_" + name + ".n_scalar",
        lambda: (points(-1.2, 1.2, count=15), 4),
        {"rtol": 1e-4, "atol": 1e-5},
    )
    add(
        "special_" + name + ".x_scalar",
        lambda: (0.3, torch.arange(8.0)),
        {"rtol": 1e-4, "atol": 1e-5},
    )
add("polygamma", lambda: (2, points(-8.7, -0.2)), {"rtol": 1e-3})
add("polygamma", lambda: (3, points(-8.7, -0.2)), {"rtol": 1e-3})
add("polygamma", lambda: (3, torch.tensor([-3.0, -1.0, 0.0, 1.0])), {"rtol": 1e-4})
