"""A CPU backend for JAX: the PJRT plugin ``libpjrt_cpu.so``, as the platform ``tt_cpu``.

JAX finds this package by its entry point and calls :func:`initialize`.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sysconfig
from pathlib import Path
from typing import Any

__all__ = ["PLATFORM", "initialize", "lapack_path", "library_path", "onednn_path"]

PLATFORM = "tt_cpu"
_LIBRARY = "libpjrt_cpu.so"
# Above JAX's own CPU backend (0), below those of accelerators (200 and more).
_PRIORITY = 50
# They have no lowering for a platform that JAX does not know, or one that is a loop of small ops.
# For "cpu" JAX calls LAPACK by names that the plugin has too.
_LAPACK_PRIMITIVES = (
    "eig_p",
    "eigh_p",
    "geqp3_p",
    "geqrf_p",
    "hessenberg_p",
    "householder_product_p",
    "lu_p",
    "ormqr_p",
    "schur_p",
    "svd_p",
    "tridiagonal_p",
    "tridiagonal_solve_p",
)

_log = logging.getLogger(__name__)


def _package_folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    locations = spec.submodule_search_locations if spec else None
    return Path(next(iter(locations))) if locations else None


def library_path() -> Path | None:
    """The plugin: ``TT_CPU_LIBRARY``, else the one in this package, else that of ``torch_tpu``.

    Returns:
        Its path, or None where there is none.
    """
    given = os.environ.get("TT_CPU_LIBRARY")
    if given:
        return Path(given)
    folders = (Path(__file__).parent, _package_folder("torch_tpu"))
    paths = (folder / _LIBRARY for folder in folders if folder)
    return next((path for path in paths if path.exists()), None)


def lapack_path() -> Path | None:
    """LAPACK as the package ``scipy-openblas32`` has it; ``TT_CPU_LAPACK`` goes before it."""
    folder = _package_folder("scipy_openblas32")
    path = folder / "lib" / "libscipy_openblas.so" if folder else None
    return path if path and path.exists() else None


def onednn_path() -> Path | None:
    """OneDNN as the package ``onednn-cpu-gomp`` has it; ``TT_CPU_ONEDNN`` goes before it."""
    path = Path(sysconfig.get_path("data")) / "lib" / "libdnnl.so.3"
    return path if path.exists() else None


def _options() -> dict[str, Any]:
    paths = {"lapack": lapack_path(), "onednn": onednn_path()}
    return {name: str(path) for name, path in paths.items() if path}


def _register_lowerings() -> None:
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg

    rules = mlir._platform_specific_lowerings["cpu"]
    for name in _LAPACK_PRIMITIVES:
        primitive = getattr(linalg, name, None)
        if primitive in rules:
            mlir.register_lowering(primitive, rules[primitive].rule, platform=PLATFORM)


def _register_donation() -> None:
    from jax._src.interpreters import mlir

    platforms = mlir._platforms_with_donation
    if PLATFORM not in platforms:
        platforms.append(PLATFORM)


def initialize() -> None:
    """Registers the platform, its lowerings and donation; JAX calls it when it starts."""
    from jax._src import xla_bridge

    path = library_path()
    if path is None:
        _log.warning("no %s: set TT_CPU_LIBRARY to its path", _LIBRARY)
        return
    if PLATFORM not in xla_bridge._backend_factories:
        # Else JAX prints a warning that it knows nothing of the platform.
        xla_bridge._nonexperimental_plugins.add(PLATFORM)
        xla_bridge.register_plugin(
            PLATFORM, priority=_PRIORITY, library_path=str(path), options=_options
        )
    _register_donation()
    _register_lowerings()
