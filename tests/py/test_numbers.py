"""Lists of numbers, such as the step sizes that an optimizer hands over all at once."""

import pytest
import torch


def test_a_list_of_one_number_and_one_of_several(device):
    for numbers in ([2.0, 2.0, 2.0], [2.0, 3.0, 4.0], [5.0, 5.0, 5.0], [5.0, 6.0, 5.0]):
        xs = [torch.full((2,), 12.0, device=device) for _ in numbers]
        torch._foreach_div_(xs, numbers)
        got = [x[0].item() for x in xs]
        assert got == pytest.approx([12.0 / n for n in numbers])


def test_lists_of_one_number_share_a_program(device):
    xs = [torch.ones(7, device=device) for _ in range(3)]
    torch._foreach_mul_(xs, [2.0] * 3)
    before = torch.tpu.cache_stats()["memory"]["misses"]
    for number in (3.0, 4.0, 5.0):
        torch._foreach_mul_(xs, [number] * 3)
    assert torch.tpu.cache_stats()["memory"]["misses"] == before
    assert [x[0].item() for x in xs] == [120.0] * 3
