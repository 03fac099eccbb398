/* bridge.h: what the C++ files of the bridge share.
 *
 * device.cpp makes PrivateUse1 a device (guard, hooks, generators) and holds the process's one
 * runtime; memory.cpp has the allocators, autocast.cpp PyTorch's autocast lists; ops.cpp,
 * overlap.cpp and tensor.cpp make tensors and kernels; module.cpp is the Python module. Nothing
 * decides here. */
#ifndef TT_BRIDGE_BRIDGE_H
#define TT_BRIDGE_BRIDGE_H

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/core/ScalarType.h>
#include <c10/core/StorageImpl.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "runtime/runtime.h"

namespace torch_tpu {

constexpr c10::DeviceType kTpu = c10::DeviceType::PrivateUse1;
constexpr size_t kMaxDevices = 128; /* what a DeviceIndex can count */

/* ---- the runtime (device.cpp) ---- */

/* What Python and the environment ask for. Takes effect at once where the runtime is open, else
 * when it opens. */
struct Settings {
  std::string plugin;            /* a name of pjrt's table or a path; empty: not configured */
  std::string problem;           /* why no plugin is configured */
  std::vector<std::string> dirs; /* where plugins are looked for by name */
  tt_rt_mode mode = TT_RT_STRICT;
  bool check_nans = false;
  bool exact = false;                        /* torch.tpu.allow_excess_precision is its opposite */
  std::optional<tt_hlo_precision> precision; /* none: torch_precision */
  /* What torch.get_float32_matmul_precision() says; PyTorch itself takes 0.1 us to ask. */
  tt_hlo_precision torch_precision = TT_HLO_PRECISION_HIGHEST;
  std::string cache;        /* folder for executables of earlier processes; empty: none */
  bool cache_asked = false; /* by the user: say so where the folder cannot be used */
  std::string dump;         /* folder for programs; empty: none */
  /* Uses so many of the plugin's devices. 0: all, and it must be loaded to count them. */
  int devices = 0;

  tt_hlo_precision effective_precision() const { return precision.value_or(torch_precision); }
};
Settings settings();
/* Throws, and changes nothing, where the runtime is open and the change touches the plugin. */
void update_settings(const std::function<void(Settings &)> &change);

/* The runtime; opened at the first call, without the GIL. Throws where it cannot be opened (the
 * next call tries again), and in a process forked after it was. Afterwards one atomic load. */
tt_rt *runtime();
bool runtime_is_open();
/* Whether this process was forked from one that had opened the runtime: nothing of it works here.
 */
bool in_bad_fork();
/* Tells the runtime PyTorch's default dtype where that has changed. Call it before tt_rt_run; costs
 * a few loads. */
void refresh_settings(tt_rt *rt);
/* Waits for all work, before the process ends; swallows errors. */
void shut_down() noexcept;

/* Throws what `err`, which it consumes, becomes in PyTorch; NULL: returns. OUT_OF_RANGE is
 * IndexError, UNIMPLEMENTED NotImplementedError, RESOURCE_EXHAUSTED torch.OutOfMemoryError (what is
 * allocated is added), all else RuntimeError. */
[[noreturn]] void raise_error(tt_error *err);
inline void check(tt_error *err) {
  if (TT_UNLIKELY(err != nullptr))
    raise_error(err);
}

/* Releases the GIL, if this thread holds it, while it lives: around everything that waits. */
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil &) = delete;
  WithoutGil &operator=(const WithoutGil &) = delete;

 private:
  void *state_; /* PyThreadState, or NULL */
};

/* ---- devices (device.cpp) ---- */

/* -1 is the current device. Throws where there is none of this index. */
tt_rt_device *device_at(c10::DeviceIndex index);
c10::DeviceIndex current_device() noexcept; /* of this thread; opens nothing */
void set_device(c10::DeviceIndex index);
/* 0 where the runtime cannot be opened. Opens it only where settings().devices is 0. */
c10::DeviceIndex device_count() noexcept;

/* ---- dtypes (device.cpp) ---- */

std::optional<tt_dtype> dtype_of(
    c10::ScalarType type) noexcept;             /* none: the device has no such type */
c10::ScalarType scalar_type_of(tt_dtype dtype); /* throws for one that PyTorch lacks */

/* ---- generators (device.cpp) ---- */

/* Counter based: the numbers drawn depend on `seed` and `offset` alone. The runtime reads and moves
 * both atomically, so drawing needs no mutex_. */
class TpuGenerator final : public c10::GeneratorImpl {
 public:
  explicit TpuGenerator(c10::DeviceIndex index);
  tt_rt_rng *rng() { return &rng_; }

  void set_current_seed(uint64_t seed) override; /* and offset 0 */
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;
  uint64_t current_seed() const override;
  uint64_t seed() override; /* a random one */
  /* uint8[16]: seed, then offset, in the machine's byte order. */
  void set_state(const c10::TensorImpl &state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

 private:
  TpuGenerator *clone_impl() const override;
  void put(tt_rt_rng rng);
  tt_rt_rng rng_;
};
/* Made at the first call, with a random seed or that of the last seed_default_generators. Lives for
 * ever; opens nothing. */
const at::Generator &default_generator(c10::DeviceIndex index);
TpuGenerator *generator_or_default(const std::optional<at::Generator> &given,
                                   c10::DeviceIndex index);
/* Those that exist and those to come. */
void seed_default_generators(uint64_t seed);

/* ---- set-up, called once by the module's init ---- */

void register_device();   /* device.cpp: guard, hooks */
void register_memory();   /* memory.cpp: allocators */
void register_autocast(); /* autocast.cpp */
void register_kernels();  /* ops.cpp */

/* ---- tensors (tensor.cpp) ---- */

/* Consumes `taken`. The DataPtr's data and context are the tt_rt_storage; its deleter releases it.
 */
c10::intrusive_ptr<c10::StorageImpl> make_storage(tt_rt_storage *taken, size_t nbytes,
                                                  c10::Device device);
tt_rt_storage *storage_of(
    const at::Tensor &tensor); /* borrowed; throws where the tensor is not on tpu */
tt_rt_host host_callbacks();

/* ---- memory (memory.cpp) ---- */

c10::Allocator *
device_allocator(); /* a DeviceAllocator: allocate(n) makes a storage on the current device */
c10::Allocator *host_allocator(); /* of pinned memory */
bool is_pinned(const void *data);
/* A DataPtr as make_storage wants it. Consumes `taken`. */
c10::DataPtr data_ptr_of(tt_rt_storage *taken, c10::Device device);
std::pair<size_t, size_t> memory_info(c10::DeviceIndex index); /* bytes free and in all */
std::string bytes_text(int64_t bytes);                         /* "1.50 GiB" */

} // namespace torch_tpu

#endif /* TT_BRIDGE_BRIDGE_H */
