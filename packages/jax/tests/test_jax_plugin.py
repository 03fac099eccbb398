"""The JAX plugin in a process of its own, where jax is installed.

TT_CPU_LIBRARY names the plugin, unless the package has it.
"""

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="jax is not installed"
)

PROLOGUE = """
import warnings; warnings.simplefilter("error")
import jax_tt_cpu; jax_tt_cpu.initialize()
import jax, numpy as np, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
assert jax.devices()[0].platform == "tt_cpu", jax.devices()
def near(x, y, tolerance=1e-5):
    x, y = np.asarray(x), np.asarray(y)
    scale = max(1.0, float(np.abs(y).max(initial=0)))
    assert x.shape == y.shape and np.abs(x - y).max(initial=0) <= tolerance * scale, (x, y)
def matrix(dtype, *shape):
    r = np.random.RandomState(0)
    x = r.standard_normal(shape)
    return (x + 1j * r.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)
"""

DTYPES = ["float32", "float64", "complex64", "complex128"]

LINALG = """
dtype = np.dtype(DTYPE)
tolerance = 2e-4 if dtype.itemsize in (4,) or dtype == np.complex64 else 1e-11
h = lambda x: np.swapaxes(np.asarray(x).conj(), -1, -2)
a = matrix(dtype, 3, 5, 5); s = a + h(a)
w, v = jnp.linalg.eigh(s); near(np.asarray(v) * np.asarray(w)[:, None] @ h(v), s, tolerance)
for shape in (3, 7, 4), (3, 4, 7), (6, 6):
    for full in False, True:
        b = matrix(dtype, *shape)
        u, x, vt = map(np.asarray, jnp.linalg.svd(b, full_matrices=full)); k = x.shape[-1]
        near((u[..., :k] * x[..., None, :]) @ vt[..., :k, :], b, tolerance)
        near(h(u) @ u, np.broadcast_to(np.eye(u.shape[-1]), (h(u) @ u).shape), tolerance)
        near(vt @ h(vt), np.broadcast_to(np.eye(vt.shape[-2]), (vt @ h(vt)).shape), tolerance)
        q, r = map(np.asarray, jnp.linalg.qr(b, mode="complete" if full else "reduced"))
        near(q @ r, b, tolerance); near(np.tril(r, -1), 0 * r, tolerance)
near(jnp.linalg.svd(np.ones((4, 3), dtype), compute_uv=False), [12 ** 0.5, 0, 0], tolerance)
u, x, vt = map(np.asarray, jnp.linalg.svd(np.ones((4, 3), dtype)))
near(h(u) @ u, np.eye(4), tolerance); near((u[:, :3] * x) @ vt, np.ones((4, 3)), tolerance)
p, l, u = map(np.asarray, jax.scipy.linalg.lu(a[0])); near(p @ l @ u, a[0], tolerance)
near(a @ np.asarray(jnp.linalg.solve(a, a[..., :2])), a[..., :2], 10 * tolerance)
w, v = map(np.asarray, jnp.linalg.eig(a)); near(a @ v, v * w[:, None], 10 * tolerance)
near(np.linalg.norm(v, axis=1), np.ones((3, 5)), tolerance)
w, vl, vr = map(np.asarray, jax.lax.linalg.eig(a))
near(h(vl) @ a, w[..., None] * h(vl), 10 * tolerance)
if dtype.kind != "c":
    assert sorted(w.imag.ravel()) == sorted(-w.imag.ravel()), w
    assert (np.sum(w.imag == 0, 1) % 2 == 1).all(), w
    assert (jnp.linalg.eigvals(np.triu(a)).imag == 0).all()
hess, q = map(np.asarray, jax.scipy.linalg.hessenberg(a[0], calc_q=True))
near(q @ hess @ h(q), a[0], tolerance); near(np.tril(hess, -2), 0 * hess, tolerance)
if dtype.kind == "c" or LAPACK:
    t, z = map(np.asarray, jax.scipy.linalg.schur(a[0])); near(z @ t @ h(z), a[0], tolerance)
if LAPACK:
    q, r, p = map(np.asarray, jax.scipy.linalg.qr(a[0], pivoting=True))
    near(q @ r, a[0][:, p], tolerance)
d, x = matrix(dtype, 3, 6), matrix(dtype, 6, 2); dl, du = d[0].copy(), d[2].copy()
dl[0] = 0; du[-1] = 0; m = np.diag(d[1]) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)
near(m @ np.asarray(jax.lax.linalg.tridiagonal_solve(dl, d[1], du, x)), x, 100 * tolerance)
"""


def run(code: str, **environment: str) -> None:
    path = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "tt_cpu", **environment}
    done = subprocess.run(
        [sys.executable, "-c", PROLOGUE + code],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]


def test_trains() -> None:
    run("""
x, y = matrix("float32", 64, 8), matrix("float32", 64, 1)
loss = lambda w: jnp.mean((jnp.tanh(x @ w[0]) @ w[1] - y) ** 2)
step = jax.jit(lambda w: [p - 0.1 * g for p, g in zip(w, jax.grad(loss)(w))])
w = [jnp.asarray(matrix("float32", 8, 16)), jnp.asarray(matrix("float32", 16, 1))]
first = loss(w)
for _ in range(50): w = step(w)
assert loss(w) < 0.5 * first
""")


def test_donates() -> None:
    run("""
x = jnp.zeros((1000, 1000)); at = x.unsafe_buffer_pointer()
y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
assert x.is_deleted() and y.unsafe_buffer_pointer() == at
""")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lapack", [False, True])
def test_linear_algebra(dtype: str, lapack: bool) -> None:
    if lapack and importlib.util.find_spec("scipy_openblas32") is None:
        pytest.skip("scipy-openblas32 is not installed")
    code = LINALG.replace("DTYPE", repr(dtype)).replace("LAPACK", repr(lapack))
    run(code, **({} if lapack else {"TT_CPU_LAPACK": "off"}))


def test_what_needs_lapack_says_so() -> None:
    run(
        """
try: jax.scipy.linalg.schur(matrix("float64", 4, 4))
except jax.errors.JaxRuntimeError as e: assert "scipy-openblas32" in str(e), e
else: assert False
""",
        TT_CPU_LAPACK="off",
    )


def test_is_found_by_its_entry_point() -> None:
    if not importlib.metadata.entry_points(group="jax_plugins", name="tt_cpu"):
        pytest.skip("jax_tt_cpu is not installed")
    done = subprocess.run(
        [sys.executable, "-c", "import jax; print(jax.devices()[0].platform)"],
        env={**os.environ, "JAX_PLATFORMS": "tt_cpu"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.stdout.split() == ["tt_cpu"], done.stderr[-2000:]
