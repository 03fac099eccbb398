"""arange with numbers that change from call to call: they become parameters, its size does not."""

import torch


def _programs():
    return torch.tpu.compilation_stats()["programs"]


def test_sizes_follow_the_numbers(device):
    for numbers in (
        (-1, 2, 2),
        (2, -3, -1),
        (1, 1, 1),
        (0, 7, 3),
        (0, 6, 3),
        (0, -7, -3),
        (5, 0, 1.5 - 2),
        (0.5, 3, 0.5),
        (0.2, 1.9, 1),
        (0.2, 2.1, 1),
    ):
        for dtype in (torch.float32, torch.int64):
            if dtype == torch.int64 and int(numbers[2]) == 0:
                continue
            want = torch.arange(*numbers, dtype=dtype)
            got = torch.arange(*numbers, dtype=dtype, device=device)
            assert torch.equal(got.cpu(), want), numbers


def test_a_moving_start_compiles_no_more(device):
    for i in range(3):
        torch.arange(100 + i, 103 + i, device=device)
    before = _programs()
    for i in range(20):
        got = torch.arange(200 + i, 203 + i, device=device)
        assert got.tolist() == [200 + i, 201 + i, 202 + i]
    assert _programs() == before
