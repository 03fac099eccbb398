"""The device to PyTorch's own machinery: guard, streams, events, generators, memory, autocast."""

import gc
import threading
import time

import pytest
import torch
from torch import nn

# ---- what PyTorch adds to its classes ----


def test_names(device):
    x = torch.ones(2).tpu()
    assert x.is_tpu and not torch.ones(2).is_tpu
    assert x.device == torch.device("tpu:0") and x.get_device() == 0
    model = nn.Linear(2, 2).tpu()
    assert model.weight.is_tpu
    packed = nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(1, 2)]).tpu()
    assert packed.data.is_tpu


def test_accelerator():
    a = torch.accelerator
    assert a.is_available() and a.device_count() == torch.tpu.device_count()
    assert a.current_accelerator() == torch.device("tpu")
    assert a.current_device_index() == 0
    x = torch.ones(1000, device=a.current_accelerator())
    a.synchronize()
    assert a.memory_allocated() >= 4000
    assert a.max_memory_allocated() >= a.memory_allocated()
    free, total = a.get_memory_info()
    assert 0 < free <= total
    a.reset_peak_memory_stats()
    a.reset_accumulated_memory_stats()
    a.empty_cache()
    assert x.sum().item() == 1000
    with a.device_index(0):
        assert a.current_device_index() == 0


def test_capability_lists_the_dtypes():
    dtypes = torch.accelerator.get_device_capability()["supported_dtypes"]
    assert torch.bfloat16 in dtypes and torch.float8_e4m3fn in dtypes
    assert torch.qint8 not in dtypes and torch.complex32 not in dtypes


def test_default_device(device):
    with torch.device("tpu"):
        assert torch.ones(2).is_tpu and nn.Linear(1, 1).weight.is_tpu


# ---- the current device ----


def test_set_device_checks_the_index():
    torch.tpu.set_device(0)
    torch.tpu.set_device("tpu:0")
    torch.tpu.set_device(-1)
    with pytest.raises(RuntimeError, match="no device of index 99"):
        torch.tpu.set_device(99)
    with pytest.raises(RuntimeError, match="index 99"):
        torch.ones(1, device="tpu:99")
    with pytest.raises(ValueError, match="expected a tpu device, got cpu"):
        torch.tpu.set_device("cpu")
    assert torch.tpu.current_device() == 0


def test_device_contexts(device):
    for context in (
        torch.tpu.device(0),
        torch.tpu.device("tpu:0"),
        torch.tpu.device(None),
        torch.tpu.device_of(torch.ones(1, device=device)),
        torch.tpu.device_of(torch.ones(1)),
    ):
        with context:
            assert torch.tpu.current_device() == 0


@pytest.mark.parametrize("plugin", ["cpu", "xla_cpu"])
def test_several_devices(python, plugin):
    """Plugins for the CPU pretend to have four."""
    python(
        """
        import torch, torch_tpu
        assert torch.tpu.device_count() == 4
        x = torch.arange(3.0, device="tpu:2")
        y = x.to("tpu:1") + 1
        assert y.device.index == 1 and y.tolist() == [1, 2, 3]
        with torch.tpu.device(3):
            assert torch.tpu.current_device() == 3 and torch.ones(1, device="tpu").device.index == 3
            with torch.tpu.device_of(x):
                assert torch.tpu.current_device() == 2
        assert torch.tpu.current_device() == 0
        try:
            x + y
        except RuntimeError as error:
            assert "same device" in str(error) and "tpu:2" in str(error) and "tpu:1" in str(error)
        else:
            raise AssertionError("tensors of two devices were added")
        assert len(torch.tpu.default_generators) == 4
        torch.tpu.manual_seed_all(7)
        assert {g.initial_seed() for g in torch.tpu.default_generators} == {7}
        torch.tpu.set_device(1)
        torch.tpu.manual_seed(8)
        assert [g.initial_seed() for g in torch.tpu.default_generators] == [7, 8, 7, 7]
        x.requires_grad_()
        (x.to("tpu:3") * 2).sum().backward()
        assert x.grad.device.index == 2
        """,
        TORCH_TPU_PLUGIN=plugin,
        TORCH_TPU_CPU_DEVICES="4",
    )


# ---- streams and events ----


def test_streams(device):
    default = torch.tpu.default_stream()
    assert torch.tpu.current_stream() == default and default.stream_id == 0
    stream = torch.tpu.Stream(priority=-1)
    assert isinstance(stream, torch.Stream) and stream != default
    with torch.tpu.stream(stream):
        assert torch.tpu.current_stream() == stream
        x = torch.arange(4.0, device=device) + 1
    assert torch.tpu.current_stream() == default
    default.wait_stream(stream)
    x.record_stream(stream)
    assert (x * 2).tolist() == [2, 4, 6, 8]
    with torch.tpu.stream(None):
        assert torch.tpu.current_stream() == default
    with stream:
        assert torch.tpu.current_stream() == stream
    torch.tpu.set_stream(stream)
    assert torch.tpu.current_stream() == stream
    torch.tpu.set_stream(default)
    stream.synchronize()
    assert stream.query()


def test_current_stream_is_of_the_thread():
    seen = []
    with torch.tpu.stream(torch.tpu.Stream()):
        thread = threading.Thread(target=lambda: seen.append(torch.tpu.current_stream()))
        thread.start()
        thread.join()
    assert seen == [torch.tpu.default_stream()]


def test_events(device):
    event = torch.tpu.Event()
    assert event.query()
    x = torch.ones(300, 300, device=device)
    for _ in range(20):
        x = x @ x / 300
    event.record()
    torch.tpu.current_stream().wait_event(event)
    event.wait()
    event.synchronize()
    assert event.query()
    recorded = torch.tpu.current_stream().record_event()
    recorded.synchronize()
    assert x[0, 0].item() == pytest.approx(1)


def test_event_is_done_once_the_queue_was_empty(device):
    event = torch.tpu.Event()
    torch.ones(8, device=device) + 1
    event.record()
    torch.tpu.synchronize()
    assert event.query()


def test_elapsed_time(device):
    x = torch.ones(500, 500, device=device)
    (x @ x).cpu()
    start, end = (torch.tpu.Event(enable_timing=True) for _ in range(2))
    began = time.perf_counter()
    start.record()
    for _ in range(10):
        y = x @ x
    time.sleep(0.02)
    end.record()
    took = (time.perf_counter() - began) * 1e3
    assert 20 <= start.elapsed_time(end) <= took
    assert y[0, 0].item() == 500
    with pytest.raises(ValueError, match="enable_timing"):
        torch.tpu.Event().elapsed_time(end)


def test_synchronize_waits(device):
    x = torch.ones(800, 800, device=device)
    for _ in range(10):
        x = x @ x / 800
    torch.tpu.synchronize()
    torch.tpu.synchronize(device)
    assert torch.tpu.current_stream().query()


@pytest.mark.parametrize("replaced", [False, True], ids=["dropped", "replaced"])
def test_synchronize_waits_for_results_that_are_gone(device, replaced):
    x = torch.ones(1000, 1000, device=device)
    out = torch.empty_like(x)
    (x @ x).cpu()

    def work():
        y = x
        for _ in range(8):
            y = y @ x
        if replaced:
            torch.mm(x, y, out=out)
            out.copy_(torch.ones(1000, 1000))

    # The device may be done before this thread comes to ask, and other threads work a little.
    for _ in range(20):
        work()
        busy = not torch.tpu.current_stream().query()
        torch.tpu.synchronize()
        assert torch.tpu.current_stream().query()
        began = time.process_time()
        time.sleep(0.05)
        if busy and time.process_time() - began < 0.02:
            return
    raise AssertionError("never seen at work and then at rest")


def test_waiting_releases_the_gil(device):
    """Another thread makes progress while this one waits."""
    x = torch.ones(1500, 1500, device=device)
    (x @ x).cpu()
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(0.002):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    for _ in range(8):
        x = x @ x / 1500
    before = len(ticks)
    torch.tpu.synchronize()
    during = len(ticks) - before
    stop.set()
    thread.join()
    assert during > 0 or torch.tpu.current_stream().query()


def test_autograd_uses_streams(device):
    w = torch.ones(3, device=device, requires_grad=True)
    with torch.tpu.stream(torch.tpu.Stream()):
        loss = (w * 2).sum()
    loss.backward()
    assert w.grad.tolist() == [2, 2, 2]


# ---- generators ----


def test_generator(device):
    g = torch.Generator(device="tpu")
    assert g.device == torch.device("tpu:0")
    g.manual_seed(5)
    assert g.initial_seed() == 5
    state = g.get_state()
    assert state.dtype == torch.uint8 and state.numel() == 16 and state.device.type == "cpu"
    assert state.view(torch.int64).tolist() == [5, 0]
    first = torch.rand(5, generator=g, device=device).tolist()
    assert g.get_state().view(torch.int64)[1] > 0
    second = torch.rand(5, generator=g, device=device).tolist()
    assert first != second
    g.set_state(state)
    assert torch.rand(5, generator=g, device=device).tolist() == first
    clone = g.clone_state()
    assert (
        torch.rand(5, generator=clone, device=device).tolist()
        == torch.rand(5, generator=g, device=device).tolist()
        == second
    )
    assert g.seed() == g.initial_seed() != 5
    with pytest.raises(RuntimeError, match="16 bytes"):
        g.set_state(torch.zeros(8, dtype=torch.uint8))
    with pytest.raises(RuntimeError, match="device"):
        torch.rand(2, generator=torch.Generator(), device=device)


def test_manual_seed_gives_the_same_numbers_again(device):
    draws = []
    for seed in (torch.manual_seed, torch.tpu.manual_seed, torch.tpu.manual_seed_all):
        seed(42)
        draws.append(torch.randn(4, device=device).tolist())
    assert draws[0] == draws[1] == draws[2]
    torch.tpu.manual_seed(-1)
    assert torch.tpu.initial_seed() == 2**64 - 1
    with pytest.raises(RuntimeError, match="64 bits"):
        torch.tpu.manual_seed(2**64)


def test_rng_state_and_fork(device):
    torch.manual_seed(1)
    state = torch.tpu.get_rng_state()
    assert torch.equal(state, torch.tpu.get_rng_state("tpu:0"))
    first = torch.rand(3, device=device).tolist()
    torch.tpu.set_rng_state(state)
    with torch.random.fork_rng(device_type="tpu"):
        assert torch.rand(3, device=device).tolist() == first
    assert torch.rand(3, device=device).tolist() == first
    assert torch.tpu.default_generators[0].initial_seed() == 1


def test_checkpoint_repeats_dropout(device):
    x = torch.ones(64, device=device, requires_grad=True)
    masks = []

    def layer(x):
        y = nn.functional.dropout(x, 0.5)
        masks.append(y.detach().tolist())
        return y * y

    torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False).sum().backward()
    assert len(masks) == 2 and masks[0] == masks[1] and set(masks[0]) == {0, 2}


# ---- memory ----


def test_memory_follows_tensors(device):
    gc.collect()
    torch.tpu.synchronize()
    torch.tpu.reset_peak_memory_stats()
    before = torch.tpu.memory_allocated()
    assert torch.tpu.max_memory_allocated() == before
    x = torch.ones(1 << 18, device=device)
    x.sum().item()
    assert torch.tpu.memory_allocated() - before == 1 << 20
    stats = torch.tpu.memory_stats()
    assert stats["allocated_bytes.all.current"] == torch.tpu.memory_allocated()
    assert stats["allocation.all.current"] >= 1
    assert torch.tpu.memory_reserved() >= 0
    del x
    gc.collect()
    assert torch.tpu.memory_allocated() == before
    assert torch.tpu.max_memory_allocated() >= before + (1 << 20)
    torch.tpu.reset_peak_memory_stats()
    assert torch.tpu.max_memory_allocated() == before
    free, total = torch.tpu.mem_get_info()
    assert 0 < free <= total
    torch.tpu.empty_cache()


def test_what_was_never_there_does_not_count(device):
    gc.collect()
    torch.tpu.synchronize()
    torch.tpu.reset_peak_memory_stats()
    before = torch.tpu.memory_allocated()
    x = torch.empty(1 << 47, dtype=torch.uint8, device=device)
    assert torch.tpu.memory_allocated() == torch.tpu.max_memory_allocated() == before
    with pytest.raises(torch.OutOfMemoryError) as error:
        x.fill_(1)
        x[0].item()
    assert "TiB in" not in str(error.value) and "TiB at most" not in str(error.value)
    with pytest.raises(torch.OutOfMemoryError):
        (x + 1)[0].item()
    y = torch.ones(1 << 18, device=device)
    assert torch.tpu.memory_allocated() >= before + (1 << 20)
    del x, y
    gc.collect()
    assert torch.tpu.memory_allocated() == before
    assert torch.tpu.max_memory_allocated() < before + (1 << 30)


def test_memory_summary():
    text = torch.tpu.memory_summary()
    assert text.startswith("tpu:0, MiB") and "held by tensors" in text and "on the device" in text
    assert "on the device" not in torch.tpu.memory_summary(abbreviated=True)


def test_out_of_memory_names_sizes(device):
    with pytest.raises(torch.OutOfMemoryError, match=r"(?s)out of memory.*tpu:0 holds .* storages"):
        x = torch.zeros(1 << 47, dtype=torch.uint8, device=device)
        (x + 1)[0].item()
    assert torch.ones(2, device=device).sum().item() == 2


def test_pinned_memory(device):
    x = torch.arange(1000.0).pin_memory()
    assert x.is_pinned() and x[10:].is_pinned() and not torch.ones(3).is_pinned()
    assert x.data_ptr() % 4096 == 0
    assert torch.equal(x.to(device, non_blocking=True).cpu(), x)
    y = torch.empty(16, pin_memory=True)
    assert y.is_pinned()
    assert torch.empty(0, pin_memory=True).numel() == 0
    assert y.pin_memory() is y or y.pin_memory().data_ptr() == y.data_ptr()
    address = y.data_ptr()
    del y
    gc.collect()
    assert address  # given back: nothing to see, but the address sanitizer
    assert x.sum().item() == 499500
    back = torch.empty(1000).pin_memory()
    back.copy_(x.to(device), non_blocking=True)
    torch.tpu.synchronize()
    assert torch.equal(back, x)


# ---- autocast ----


def test_autocast(device):
    a = torch.ones(4, 4, device=device)
    assert torch.get_autocast_dtype("tpu") == torch.bfloat16
    with torch.autocast("tpu"):
        assert torch.is_autocast_enabled("tpu")
        product = a @ a
        assert product.dtype == torch.bfloat16
        assert nn.functional.linear(a, a).dtype == torch.bfloat16
        assert product.exp().dtype == torch.float32
        assert product.sum().dtype == torch.float32
        assert nn.functional.softmax(product, -1).dtype == torch.float32
        assert torch.addcmul(a, product, product).dtype == torch.float32
        assert (product + 1).dtype == torch.bfloat16
        with torch.autocast("tpu", enabled=False):
            assert (a @ a).dtype == torch.float32
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            nn.functional.binary_cross_entropy(a, a)
    with torch.autocast("tpu", dtype=torch.float16):
        assert (a @ a).dtype == torch.float16
    assert (a @ a).dtype == torch.float32


def test_autocast_trains(device):
    model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 1)).to(device)
    with torch.autocast("tpu", dtype=torch.bfloat16):
        loss = model(torch.ones(3, 4, device=device)).square().mean()
    loss.backward()
    assert all(p.grad.dtype == torch.float32 for p in model.parameters())


# ---- errors ----


def test_errors_have_the_cpus_types(device):
    x, y = torch.ones(2, 3, device=device), torch.ones(4, device=device)
    with pytest.raises(RuntimeError, match="must match the size|broadcast"):
        x + y
    with pytest.raises(RuntimeError, match="same device"):
        x + torch.ones(2, 3)
    with pytest.raises(IndexError):
        x[5]
    with pytest.raises(IndexError):
        x.sum(7)
    with pytest.raises(
        RuntimeError, match="negative dimension|Trying to create tensor with negative"
    ):
        torch.empty(-1, device=device)
    with pytest.raises(NotImplementedError, match="dtype"):
        torch.empty(1, dtype=torch.complex32, device=device)


def test_more_dimensions_than_there_may_be(device):
    with pytest.raises(RuntimeError, match="65 dimensions"):
        torch.ones([1] * 65).to(device)


def test_masks_take_a_number_of_another_dtype(device):
    x = torch.zeros(3, device=device)
    x[x == 0] = torch.tensor(2, device=device)
    assert x.tolist() == [2, 2, 2]
