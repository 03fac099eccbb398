"""Random numbers: a counter-based generator for each device."""

import torch

from torch_tpu import _C
from torch_tpu._internal.device import DeviceLike, index_of


def _unsigned(seed: int) -> int:
    seed = int(seed)
    if not -(2**63) <= seed < 2**64:
        raise RuntimeError(f"Overflow when unpacking long: the seed {seed} has more than 64 bits")
    return seed % 2**64


def default_generators() -> tuple[torch.Generator, ...]:
    """Return the default generator of each device, by index."""
    return tuple(_C.default_generator(i) for i in range(_C.device_count()))


def manual_seed(seed: int) -> None:
    """Seed the current device's default generator. Loads no plugin.

    Args:
        seed: from -2**63 to 2**64 - 1; negative ones count from 2**64 down.
    """
    _C.default_generator(-1).manual_seed(_unsigned(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the default generators of all devices alike, as ``torch.manual_seed`` does too.

    Args:
        seed: as for ``manual_seed``.
    """
    _C.seed_default_generators(_unsigned(seed))


def initial_seed() -> int:
    """Return the seed of the current device's default generator."""
    return _C.default_generator(-1).initial_seed()


def get_rng_state(device: DeviceLike = "tpu") -> torch.Tensor:
    """Return the state of a device's default generator.

    Returns:
        uint8 ``[16]`` on the host: seed and offset, eight bytes each.
    """
    return _C.default_generator(index_of(device)).get_state()


def set_rng_state(new_state: torch.Tensor, device: DeviceLike = "tpu") -> None:
    """Put a device's default generator into a state that ``get_rng_state`` returned.

    Args:
        new_state: uint8 ``[16]`` on the host.
    """
    _C.default_generator(index_of(device)).set_state(new_state)
