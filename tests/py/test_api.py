"""torch.tpu: the names, the modes, precision, statistics, overloads without a rule."""

import enum
import inspect
import warnings

import pytest
import torch

import torch_tpu
from torch_tpu._internal import decompose, user_line

NAMES = """
    is_available is_initialized device_count current_device set_device device device_of
    get_device_name get_device_properties Stream Event stream set_stream current_stream
    default_stream synchronize EagerMode eager_mode set_eager_mode Precision precision
    allow_excess_precision
    manual_seed manual_seed_all initial_seed get_rng_state set_rng_state default_generators
    get_amp_supported_dtype topology_aware_mesh memory_allocated max_memory_allocated
    reset_peak_memory_stats memory_reserved memory_stats memory_summary mem_get_info empty_cache
    compilation_stats cache_stats clear_cache fallbacks
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_name_is_there_and_explained(name):
    assert name in torch.tpu.__all__ and name in dir(torch.tpu)
    value = inspect.getattr_static(type(torch.tpu), name, None) or getattr(torch.tpu, name)
    assert value.__doc__


def test_module():
    import torch.tpu as module

    assert module is torch.tpu is torch_tpu.tpu
    assert set(torch.tpu.__all__) == set(NAMES)
    assert torch.get_device_module("tpu") is torch.tpu


def test_version_is_that_of_the_project():
    from conftest import ROOT

    assert f'version = "{torch_tpu.__version__}"' in (ROOT / "pyproject.toml").read_text()


# ---- devices ----


def test_devices():
    assert torch.tpu.is_available() and torch.tpu.device_count() >= 1
    torch.ones(1, device="tpu")
    assert torch.tpu.is_initialized() and not torch.tpu._is_in_bad_fork()
    torch.tpu._lazy_init()
    properties = torch.tpu.get_device_properties("tpu:0")
    assert properties.name == torch.tpu.get_device_name(0) == torch.tpu.get_device_name()
    assert properties.total_memory > 0 and properties.core_count >= 1
    assert properties.multi_processor_count == properties.core_count
    assert properties.plugin_path.endswith(".so") and properties.plugin_version
    assert properties.pjrt_version >= (0, 29)
    for of_device in (
        torch.tpu.get_device_properties,
        torch.tpu.get_rng_state,
        torch.tpu.current_stream,
        torch.tpu.memory_allocated,
    ):
        with pytest.raises(RuntimeError, match="no device of index 99"):
            of_device(99)
    with pytest.raises(ValueError, match="expected a tpu device"):
        torch.tpu.get_device_name(torch.device("cpu"))


def test_amp_dtypes():
    assert torch.tpu.get_amp_supported_dtype() == [torch.bfloat16, torch.float16]


# ---- modes ----


def test_eager_modes():
    mode = torch.tpu.EagerMode
    assert issubclass(mode, enum.Enum)
    assert mode.STRICT is mode.DEFER_NEVER and mode.DEBUG is mode.DEFER_NEVER_AND_LAUNCH_BLOCKING
    assert torch.tpu.eager_mode is mode.DEFER_NEVER
    torch.tpu.eager_mode = mode.DEBUG
    try:
        assert torch.tpu.eager_mode is mode.DEFER_NEVER_AND_LAUNCH_BLOCKING
        with torch.tpu.set_eager_mode(mode.STRICT):
            assert torch.tpu.eager_mode is mode.STRICT
        assert torch.tpu.eager_mode is mode.DEBUG
    finally:
        torch.tpu.eager_mode = mode.STRICT
    with pytest.raises(ZeroDivisionError), torch.tpu.set_eager_mode(mode.DEBUG):
        raise ZeroDivisionError
    assert torch.tpu.eager_mode is mode.STRICT


def test_eager_mode_refusals():
    with pytest.raises(NotImplementedError, match="DEFER_AND_FUSE is not built yet"):
        torch.tpu.eager_mode = torch.tpu.EagerMode.DEFER_AND_FUSE
    with pytest.raises(NotImplementedError):
        with torch.tpu.set_eager_mode(torch.tpu.EagerMode.DEFER_AND_FUSE):
            pass
    with pytest.raises(TypeError, match="EagerMode"):
        torch.tpu.eager_mode = "strict"
    assert torch.tpu.eager_mode is torch.tpu.EagerMode.STRICT


def test_modes_from_the_environment(python):
    code = "import torch, torch_tpu; print(torch.tpu.eager_mode.name, torch.tpu.is_initialized())"
    debug = "DEFER_NEVER_AND_LAUNCH_BLOCKING False\n"
    assert python(code) == "DEFER_NEVER False\n"
    assert python(code, TORCH_TPU_LAUNCH_BLOCKING="1") == debug
    assert python(code, TORCH_TPU_ENABLE_DEBUG_CHECKS="1") == debug
    assert python(code, TORCH_TPU_DEFER_AND_FUSE="1") == "DEFER_NEVER False\n"


def test_debug_mode_checks_bounds_and_names_the_line(device):
    x = torch.arange(4.0, device=device)
    index = torch.tensor([1, 9], device=device)
    with torch.tpu.set_eager_mode(torch.tpu.EagerMode.DEBUG):
        with pytest.raises(IndexError, match=r"test_api\.py:\d+ in test_debug_mode"):
            x[index]
    assert x.sum().item() == 6


def test_nan_checks(python):
    python(
        """
        import torch, torch_tpu
        x = torch.tensor([0.0, -1.0], device="tpu")
        try:
            x.log()
        except RuntimeError as error:
            assert "nan" in str(error).lower(), error
        else:
            raise AssertionError("log(-1) went unnoticed")
        """,
        TORCH_TPU_ENABLE_DEBUG_CHECKS="1",
    )


def test_dump(python, tmp_path):
    code = "import torch, torch_tpu; (torch.ones(3, device='tpu') + 1).cpu()"
    python(code, TORCH_TPU_DUMP=str(tmp_path))
    texts = [path.read_text() for path in tmp_path.iterdir()]
    assert any("stablehlo.add" in text for text in texts)


def test_user_line_is_outside_of_torch_and_the_package():
    line = user_line.current()
    assert line.endswith("in test_user_line_is_outside_of_torch_and_the_package")
    assert "test_api.py:" in line


# ---- precision ----


def test_precision():
    p = torch.tpu.Precision
    effective = torch_tpu._C.effective_precision
    before = torch.get_float32_matmul_precision()
    try:
        for name, wanted in [("medium", p.DEFAULT), ("high", p.HIGH), ("highest", p.HIGHEST)]:
            torch.set_float32_matmul_precision(name)
            assert effective() == wanted.value
        with torch.tpu.precision(p.HIGH):
            assert effective() == p.HIGH.value
            with torch.tpu.precision(p.DEFAULT):
                assert effective() == p.DEFAULT.value
            assert effective() == p.HIGH.value
        assert effective() == p.HIGHEST.value
    finally:
        torch.set_float32_matmul_precision(before)
    with pytest.raises(TypeError, match="Precision"), torch.tpu.precision("high"):
        pass


def test_precision_is_part_of_the_program(python, tmp_path):
    python(
        """
        import torch, torch_tpu
        x = torch.ones(3, 5, device="tpu")
        x @ x.T
        with torch.tpu.precision(torch.tpu.Precision.DEFAULT):
            (x @ x.T).cpu()
        """,
        TORCH_TPU_DUMP=str(tmp_path),
    )
    products = [t for t in (f.read_text() for f in tmp_path.iterdir()) if "dot_general" in t]
    assert len(products) == 2 and sum("HIGHEST" in t for t in products) == 1


def test_allow_excess_precision(device):
    x = torch.linspace(0, 1, 1009, dtype=torch.bfloat16).to(device)
    wanted = torch.expm1(x).cpu()
    assert torch.tpu.allow_excess_precision is True

    def compiled_by_a_call():
        before = torch.tpu.compilation_stats()["programs"]
        assert torch.equal(torch.expm1(x).cpu(), wanted)
        return torch.tpu.compilation_stats()["programs"] - before

    try:
        assert compiled_by_a_call() == 0
        torch.tpu.allow_excess_precision = False
        assert torch.tpu.allow_excess_precision is False
        assert compiled_by_a_call() == 1
        with pytest.raises(TypeError, match="bool"):
            torch.tpu.allow_excess_precision = 1
    finally:
        torch.tpu.allow_excess_precision = True
    assert compiled_by_a_call() == 0


def test_default_dtype_reaches_the_device(device):
    torch.set_default_dtype(torch.float64)
    try:
        assert (torch.arange(3, device=device) / 2).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert (torch.arange(3, device=device) / 2).dtype == torch.float32


# ---- statistics ----


def test_statistics(device):
    torch.tpu.clear_cache()
    assert torch.tpu.cache_stats()["memory"]["entries"] == 0
    x = torch.ones(3, 7, device=device)
    before, cache = torch.tpu.compilation_stats(), torch.tpu.cache_stats()["memory"]
    for _ in range(3):
        torch.sinh(x)
    after = torch.tpu.compilation_stats()
    assert after["programs"] == before["programs"] + 1
    assert after["executions"] == before["executions"] + 3
    assert after["compile_seconds"] > before["compile_seconds"]
    now = torch.tpu.cache_stats()["memory"]
    assert now["hits"] == cache["hits"] + 2 and now["misses"] == cache["misses"] + 1
    torch.tpu.clear_cache()
    assert torch.sinh(x)[0, 0].item() == pytest.approx(1.1752012)


# ---- meshes ----


def test_topology_aware_mesh(tmp_path):
    import torch.distributed as dist

    with pytest.raises(RuntimeError, match="not initialised"):
        torch.tpu.topology_aware_mesh((1,))
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        assert torch.tpu.topology_aware_mesh((1, 1)).tolist() == [[0]]
        with pytest.raises(ValueError, match="does not hold 1 processes"):
            torch.tpu.topology_aware_mesh((2, 1))
    finally:
        dist.destroy_process_group()


# ---- overloads without a rule ----


@pytest.fixture
def custom():
    """An operator that has a kernel on the CPU alone, and its in-place and out= forms."""
    library = torch.library.Library("torch_tpu_test", "FRAGMENT")
    library.define("third(Tensor x, *, ScalarType? dtype=None) -> Tensor")
    library.define("third_(Tensor(a!) x) -> Tensor(a!)")
    library.define("third.out(Tensor x, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)")
    library.define("parts(Tensor x) -> (Tensor, int)")
    library.define("seen(Tensor(a) x) -> Tensor(a)")
    kernels = {
        "third": lambda x, dtype=None: (x / 3).to(dtype or x.dtype),
        "third_": lambda x: x.div_(3),
        "third.out": lambda x, dtype=None, *, out: out.resize_(x.shape).copy_(x / 3),
        "parts": lambda x: (x + 1, 5),
        "seen": lambda x: x.view(-1),
    }
    for name, kernel in kernels.items():
        library.impl(name, kernel, "CPU")
    yield torch.ops.torch_tpu_test
    library._destroy()
    for function in (decompose._overload, decompose._number_kinds, decompose._decomposition):
        function.cache_clear()


def test_without_rule_or_decomposition(custom, device, monkeypatch):
    monkeypatch.delenv("TORCH_TPU_FALLBACK", raising=False)
    with pytest.raises(NotImplementedError) as caught:
        custom.third(torch.ones(2, 3, device=device))
    message = str(caught.value)
    assert "torch_tpu_test.third.default(float32[2, 3]" in message
    assert "TORCH_TPU_FALLBACK=warn" in message


def test_host_fallback(custom, device, monkeypatch):
    x = torch.tensor([3.0, 6.0], device=device)
    decompose.host_calls.clear()
    monkeypatch.setenv("TORCH_TPU_FALLBACK", "warn")
    with pytest.warns(UserWarning, match=r"third.default runs on the host"):
        y = custom.third(x)
    assert y.is_tpu and y.tolist() == [1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert custom.third(x, dtype=torch.float64).dtype == torch.float64
        monkeypatch.setenv("TORCH_TPU_FALLBACK", "silent")
        out = torch.empty(0, device=device)
        assert custom.third.out(x, out=out) is out and out.tolist() == [1, 2]
        assert custom.third_(x) is x and x.tolist() == [1, 2]
        part, number = custom.parts(x)
    assert part.is_tpu and part.tolist() == [2, 3] and number == 5
    with pytest.raises(NotImplementedError, match="view"):
        custom.seen(x)
    assert torch.tpu.fallbacks() == {
        "torch_tpu_test.third.default": 3,  # once for third.out
        "torch_tpu_test.third_.default": 1,
        "torch_tpu_test.parts.default": 1,
    }
    decompose.host_calls.clear()


def test_fallback_checks_its_variable(custom, device, monkeypatch):
    monkeypatch.setenv("TORCH_TPU_FALLBACK", "maybe")
    with pytest.raises(ValueError, match="TORCH_TPU_FALLBACK=maybe"):
        custom.third(torch.ones(2, device=device))


def with_decomposition(name, function):
    """Register ``function`` as the decomposition of an overload of the custom library."""
    import torch._decomp

    op = getattr(torch.ops.torch_tpu_test, name).default
    torch._decomp.decomposition_table[op] = function
    decompose._decomposition.cache_clear()
    return op


def test_decomposition(custom, device, monkeypatch):
    monkeypatch.delenv("TORCH_TPU_FALLBACK", raising=False)
    seen = []

    def third(x, dtype=None):
        seen.append(dtype)
        return (x * 2 / 6).to(dtype or x.dtype)

    op = with_decomposition("third", third)
    try:
        x = torch.tensor([3.0, 6.0], device=device)
        assert custom.third(x).tolist() == [1, 2]
        assert custom.third(x, dtype=torch.float64).dtype == torch.float64
        out = torch.empty(5, device=device)
        assert custom.third.out(x, out=out) is out and out.tolist() == [1, 2]
        assert seen == [None, torch.float64, None]
        assert torch.tpu.fallbacks() == {}
    finally:
        del torch._decomp.decomposition_table[op]
        decompose._decomposition.cache_clear()


def test_decomposition_that_comes_to_itself_is_none(custom, device, monkeypatch):
    monkeypatch.delenv("TORCH_TPU_FALLBACK", raising=False)
    op = with_decomposition("third", lambda x, dtype=None: custom.third(x))
    try:
        with pytest.raises(NotImplementedError, match="third"):
            custom.third(torch.ones(2, device=device))
    finally:
        del torch._decomp.decomposition_table[op]
        decompose._decomposition.cache_clear()


def test_number_arguments_become_objects():
    op = torch.ops.aten.empty_like.default
    args, kwargs = decompose._with_objects(op, (1,), {"dtype": 6, "layout": 0, "memory_format": 1})
    assert args == (1,)
    wanted = {"dtype": torch.float32, "layout": torch.strided}
    assert kwargs == {**wanted, "memory_format": torch.preserve_format}


def test_functional_forms_are_found():
    aten = torch.ops.aten
    for written, functional in [
        (aten.add.out, aten.add.Tensor),
        (aten.add_.Tensor, aten.add.Tensor),
        (aten.ceil.out, aten.ceil.default),
        (aten.max.dim_max, aten.max.dim),
        (aten.sort.values_stable, aten.sort.stable),
    ]:
        assert decompose._functional(written) is functional
