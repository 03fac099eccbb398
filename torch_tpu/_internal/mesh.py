"""A mesh of devices laid out as the chips are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh


def topology_aware_mesh(
    mesh_shape: tuple[int, ...], names: tuple[str, ...] | None = None
) -> torch.Tensor | DeviceMesh:
    """Lay out the ranks of the job so that neighbours in the mesh are neighbours in hardware.

    Args:
        mesh_shape: sizes of the mesh, whose product is the number of processes.
        names: a name for each dimension.
    Returns:
        int64 ranks of shape ``mesh_shape``; with ``names`` a ``DeviceMesh`` of them.
    Raises:
        RuntimeError: ``torch.distributed`` is not initialised.
        ValueError: the product of ``mesh_shape`` is not the number of processes.
        NotImplementedError: there is more than one process; this needs the tpu process group.
    """
    import torch.distributed as dist

    if not dist.is_initialized():
        raise RuntimeError("topology_aware_mesh: torch.distributed is not initialised")
    world = dist.get_world_size()
    if math.prod(mesh_shape) != world:
        raise ValueError(f"topology_aware_mesh: {mesh_shape} does not hold {world} processes")
    if world > 1:
        raise NotImplementedError(
            "topology_aware_mesh: more than one process needs the tpu process group, which is not "
            "built yet"
        )
    ranks = torch.zeros(mesh_shape, dtype=torch.int64)
    if names is None:
        return ranks
    from torch.distributed.device_mesh import DeviceMesh

    return DeviceMesh("tpu", ranks, mesh_dim_names=tuple(names))
