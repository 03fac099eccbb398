/* Makes PrivateUse1 a device: the process's runtime, errors, guard with streams and events, hooks,
 * generators. */
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/empty.h>
#include <Python.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <pthread.h>

#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "bridge/bridge.h"

namespace torch_tpu {
namespace {

/* Never destroyed: threads and static objects of others may still ask while the process ends. */
struct State {
  std::mutex lock; /* of `settings`, and held while the runtime opens */
  Settings settings;
  std::atomic<tt_rt *> rt{nullptr};
  std::atomic<size_t> devices{0}; /* of `rt` */
  std::atomic<bool> bad_fork{false};
  std::atomic<int> told_dtype{-1}; /* to the runtime; a ScalarType */
};

State &state() {
  static State *const all = new State;
  return *all;
}

void after_fork_in_child() {
  if (state().rt.exchange(nullptr) != nullptr)
    state().bad_fork = true;
}

int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

} // namespace

/* ---- the runtime ---- */

namespace {

/* The runtime's own defaults are those of Settings. */
void apply_changes(tt_rt *rt, const Settings &from, const Settings &to) {
  if (from.mode != to.mode)
    check(tt_rt_mode_set(rt, to.mode));
  if (from.effective_precision() != to.effective_precision())
    tt_rt_precision_set(rt, to.effective_precision());
  if (from.check_nans != to.check_nans)
    tt_rt_check_nans_set(rt, to.check_nans);
  if (from.exact != to.exact)
    tt_rt_exact_set(rt, to.exact);
  if (from.dump != to.dump)
    check(tt_rt_dump_set(rt, to.dump.empty() ? nullptr : to.dump.c_str()));
}

tt_rt *open_runtime(const Settings &wanted) {
  TORCH_CHECK(
      !wanted.plugin.empty(), "tpu: ",
      wanted.problem.empty() ? "no plugin configured: import torch_tpu does that" : wanted.problem);
  std::vector<const char *> dirs;
  for (const std::string &dir : wanted.dirs)
    dirs.push_back(dir.c_str());
  tt_rt_options options = {};
  options.plugin = wanted.plugin.c_str();
  options.dirs = dirs.data();
  options.dirs_count = dirs.size();
  options.devices = wanted.devices;
  options.cache_folder = wanted.cache.empty() ? nullptr : wanted.cache.c_str();
  options.host = host_callbacks();
  tt_rt *rt = nullptr;
  check(tt_rt_open(&options, &rt));
  if (wanted.cache_asked && tt_rt_cache_problem(rt) != nullptr)
    TORCH_WARN("tpu: TORCH_TPU_CACHE_DIR=", wanted.cache, ": ", tt_rt_cache_problem(rt),
               "; compiled programs are not kept");
  try {
    apply_changes(rt, Settings(), wanted);
    TORCH_CHECK(tt_rt_device_count(rt) > 0, "tpu: the plugin ", wanted.plugin, " has no device");
    TORCH_CHECK(tt_rt_device_count(rt) < kMaxDevices, "tpu: more devices than PyTorch can count");
  } catch (...) {
    tt_rt_close(rt);
    throw;
  }
  return rt;
}

tt_rt *runtime_slow() {
  WithoutGil nogil;
  State &s = state();
  TORCH_CHECK(!s.bad_fork,
              "Cannot re-initialize tpu in a forked subprocess. To use tpu with multiprocessing, "
              "you must use the "
              "'spawn' start method");
  std::lock_guard<std::mutex> guard(s.lock);
  tt_rt *rt = s.rt.load();
  if (rt == nullptr) {
    rt = open_runtime(s.settings);
    s.devices = tt_rt_device_count(rt);
    s.rt.store(rt, std::memory_order_release);
  }
  return rt;
}

bool plugin_is_there(const Settings &wanted) {
  std::vector<const char *> dirs;
  for (const std::string &dir : wanted.dirs)
    dirs.push_back(dir.c_str());
  char path[4096];
  tt_error *err = wanted.plugin.empty() ? tt_error_new(TT_NOT_FOUND, "no plugin configured")
                                        : tt_pj_plugin_find(wanted.plugin.c_str(), dirs.data(),
                                                            dirs.size(), path, sizeof path);
  bool found = err == nullptr;
  tt_error_free(err);
  return found;
}

} // namespace

Settings settings() {
  std::lock_guard<std::mutex> guard(state().lock);
  return state().settings;
}

void update_settings(const std::function<void(Settings &)> &change) {
  WithoutGil nogil;
  State &s = state();
  std::lock_guard<std::mutex> guard(s.lock);
  Settings wanted = s.settings;
  change(wanted);
  if (tt_rt *rt = s.rt.load()) {
    TORCH_CHECK(wanted.plugin == s.settings.plugin && wanted.dirs == s.settings.dirs,
                "tpu: the plugin ", s.settings.plugin, " is in use and cannot be changed any more");
    apply_changes(rt, s.settings, wanted);
  }
  s.settings = std::move(wanted);
}

tt_rt *runtime() {
  tt_rt *rt = state().rt.load(std::memory_order_acquire);
  return TT_LIKELY(rt != nullptr) ? rt : runtime_slow();
}

bool runtime_is_open() { return state().rt.load(std::memory_order_acquire) != nullptr; }

bool in_bad_fork() { return state().bad_fork.load(std::memory_order_relaxed); }

void shut_down() noexcept {
  tt_rt *rt = state().rt.load();
  if (rt == nullptr)
    return;
  /* Only drained: tensors that outlive the interpreter still point into it. */
  WithoutGil nogil;
  for (size_t i = 0; i < tt_rt_device_count(rt); i++)
    tt_error_free(tt_rt_synchronize(tt_rt_device_at(rt, i)));
  /* The autograd engine's thread of a device needs the GIL once more after the last backward has
   * returned, to let go of its graph; without the interpreter it would abort the process. */
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

void refresh_settings(tt_rt *rt) {
  State &s = state();
  int dtype = static_cast<int>(c10::get_default_dtype_as_scalartype());
  if (TT_UNLIKELY(dtype != s.told_dtype.load(std::memory_order_relaxed))) {
    tt_rt_default_dtype_set(rt, dtype_of(static_cast<c10::ScalarType>(dtype)).value_or(TT_F32));
    s.told_dtype = dtype;
  }
}

/* ---- errors ---- */

namespace {

std::string memory_text() {
  tt_rt *rt = state().rt.load();
  auto index = static_cast<size_t>(current_device());
  if (rt == nullptr || index >= tt_rt_device_count(rt))
    return "";
  tt_rt_memory memory = {};
  tt_rt_memory_get(tt_rt_device_at(rt, index), &memory);
  std::string text = "\ntpu:" + std::to_string(index) + " holds " + bytes_text(memory.allocated) +
                     " in " + std::to_string(memory.storages) + " storages, " +
                     bytes_text(memory.peak) + " at most so far";
  if (memory.limit >= 0)
    text += "; the device has " + bytes_text(memory.limit);
  return text;
}

} // namespace

void raise_error(tt_error *err) {
  tt_code code = tt_error_code(err);
  std::string message = tt_error_message(err);
  tt_error_free(err);
  switch (code) {
    case TT_OUT_OF_RANGE:
      C10_THROW_ERROR(IndexError, message);
    case TT_UNIMPLEMENTED:
      C10_THROW_ERROR(NotImplementedError, message);
    case TT_RESOURCE_EXHAUSTED:
      C10_THROW_ERROR(OutOfMemoryError, "tpu: out of memory: " + message + memory_text());
    default:
      C10_THROW_ERROR(Error, message);
  }
}

WithoutGil::WithoutGil()
    : state_(Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread() : nullptr) {}

WithoutGil::~WithoutGil() {
  if (state_ != nullptr)
    PyEval_RestoreThread(static_cast<PyThreadState *>(state_));
}

/* ---- devices ---- */

namespace {

thread_local c10::DeviceIndex current_index = 0;

c10::DeviceIndex index_of(c10::Device device) {
  return device.has_index() ? device.index() : current_index;
}

} // namespace

c10::DeviceIndex current_device() noexcept { return current_index; }

c10::DeviceIndex device_count() noexcept {
  try {
    if (!runtime_is_open()) {
      Settings wanted = settings();
      if (in_bad_fork() || !plugin_is_there(wanted))
        return 0;
      /* PyTorch asks at the first backward of any program: do not load a plugin for a CPU one. */
      if (wanted.devices > 0)
        return static_cast<c10::DeviceIndex>(wanted.devices);
      runtime();
    }
    return static_cast<c10::DeviceIndex>(state().devices.load());
  } catch (...) {
    return 0;
  }
}

tt_rt_device *device_at(c10::DeviceIndex index) {
  tt_rt *rt = runtime();
  if (index < 0)
    index = current_index;
  size_t count = state().devices.load(std::memory_order_relaxed);
  TORCH_CHECK(static_cast<size_t>(index) < count, "tpu: no device of index ",
              static_cast<int>(index), ": there are ", count);
  return tt_rt_device_at(rt, static_cast<size_t>(index));
}

void set_device(c10::DeviceIndex index) {
  if (index == current_index)
    return;
  TORCH_CHECK(index >= 0 && index < device_count(), "tpu: no device of index ",
              static_cast<int>(index), ": there are ", static_cast<int>(device_count()));
  current_index = index;
}

/* ---- dtypes ---- */

namespace {

struct dtype_row {
  c10::ScalarType type;
  tt_dtype dtype;
};

/* PyTorch packs two 4-bit floats into a byte and has no operators for 4-bit integers: neither is
 * here. */
constexpr dtype_row kDtypes[] = {
    {c10::ScalarType::Bool, TT_PRED},
    {c10::ScalarType::Byte, TT_U8},
    {c10::ScalarType::Char, TT_S8},
    {c10::ScalarType::Short, TT_S16},
    {c10::ScalarType::Int, TT_S32},
    {c10::ScalarType::Long, TT_S64},
    {c10::ScalarType::UInt16, TT_U16},
    {c10::ScalarType::UInt32, TT_U32},
    {c10::ScalarType::UInt64, TT_U64},
    {c10::ScalarType::Half, TT_F16},
    {c10::ScalarType::BFloat16, TT_BF16},
    {c10::ScalarType::Float, TT_F32},
    {c10::ScalarType::Double, TT_F64},
    {c10::ScalarType::ComplexFloat, TT_C64},
    {c10::ScalarType::ComplexDouble, TT_C128},
    {c10::ScalarType::Float8_e4m3fn, TT_F8E4M3FN},
    {c10::ScalarType::Float8_e4m3fnuz, TT_F8E4M3FNUZ},
    {c10::ScalarType::Float8_e5m2, TT_F8E5M2},
    {c10::ScalarType::Float8_e5m2fnuz, TT_F8E5M2FNUZ},
    {c10::ScalarType::Float8_e8m0fnu, TT_F8E8M0FNU},
};

constexpr size_t kScalarTypes = static_cast<size_t>(c10::ScalarType::NumOptions);

/* By ScalarType; TT_DTYPE_COUNT: none. Looked up for every argument of every call. */
constexpr std::array<tt_dtype, kScalarTypes> dtypes_by_type() {
  std::array<tt_dtype, kScalarTypes> all = {};
  for (tt_dtype &dtype : all)
    dtype = TT_DTYPE_COUNT;
  for (const dtype_row &row : kDtypes)
    all[static_cast<size_t>(row.type)] = row.dtype;
  return all;
}

constexpr std::array<c10::ScalarType, TT_DTYPE_COUNT> types_by_dtype() {
  std::array<c10::ScalarType, TT_DTYPE_COUNT> all = {};
  for (c10::ScalarType &type : all)
    type = c10::ScalarType::Undefined;
  for (const dtype_row &row : kDtypes)
    all[row.dtype] = row.type;
  return all;
}

constexpr std::array<tt_dtype, kScalarTypes> kDtypeOf = dtypes_by_type();
constexpr std::array<c10::ScalarType, TT_DTYPE_COUNT> kTypeOf = types_by_dtype();

} // namespace

std::optional<tt_dtype> dtype_of(c10::ScalarType type) noexcept {
  auto at = static_cast<size_t>(type);
  if (at >= kScalarTypes || kDtypeOf[at] == TT_DTYPE_COUNT)
    return std::nullopt;
  return kDtypeOf[at];
}

c10::ScalarType scalar_type_of(tt_dtype dtype) {
  c10::ScalarType type = dtype < TT_DTYPE_COUNT ? kTypeOf[dtype] : c10::ScalarType::Undefined;
  if (type == c10::ScalarType::Undefined)
    C10_THROW_ERROR(NotImplementedError,
                    std::string("PyTorch has no dtype ") +
                        (dtype < TT_DTYPE_COUNT ? tt_dtype_name(dtype) : "of this number"));
  return type;
}

/* ---- streams and events: PJRT has one ordered queue a device, so a stream is a name for it ----
 */

namespace {

/* Work queued on a device before this time is known to be done. */
std::array<std::atomic<int64_t>, kMaxDevices> drained_ns;

void note_drained(c10::DeviceIndex index, int64_t time_ns) {
  std::atomic<int64_t> &drained = drained_ns[static_cast<size_t>(index)];
  int64_t seen = drained.load();
  while (seen < time_ns && !drained.compare_exchange_weak(seen, time_ns)) {
  }
}

/* Whether all that was queued before `time_ns` is done. */
bool is_drained(c10::DeviceIndex index, int64_t time_ns) {
  if (!runtime_is_open() || drained_ns[static_cast<size_t>(index)].load() >= time_ns)
    return true;
  int64_t now = now_ns();
  if (!tt_rt_idle(device_at(index)))
    return false;
  note_drained(index, now);
  return true;
}

void drain(c10::DeviceIndex index) {
  if (!runtime_is_open())
    return;
  WithoutGil nogil;
  int64_t now = now_ns();
  check(tt_rt_synchronize(device_at(index)));
  note_drained(index, now);
}

struct Event {
  c10::DeviceIndex index = 0;
  bool timed = false;
  std::atomic<int64_t> recorded_ns{0}; /* 0: never */
};

Event *event_of(void *event) { return static_cast<Event *>(event); }

thread_local std::array<c10::StreamId, kMaxDevices> current_streams = {};

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kTpu; }
  c10::Device exchangeDevice(c10::Device device) const override {
    c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return c10::Device(kTpu, current_index); }
  void setDevice(c10::Device device) const override {
    if (device.has_index())
      set_device(device.index());
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index())
      current_index = device.index();
  }
  c10::DeviceIndex deviceCount() const noexcept override { return device_count(); }
  c10::DeviceCapability getDeviceCapability(c10::Device) const override {
    c10::DeviceCapability capability;
    capability.capability_data.capability_bits = 0;
    for (const dtype_row &row : kDtypes)
      capability.capability_data.capability_bits |= capability_bit(row.type);
    return capability;
  }

  c10::Stream getStream(c10::Device device) const override {
    c10::DeviceIndex index = index_of(device);
    return stream_of(current_streams[static_cast<size_t>(index)], index);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return stream_of(0, index_of(device));
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return getNewStream(device, 0);
  }
  c10::Stream getNewStream(c10::Device device, int) const override {
    static std::atomic<c10::StreamId> last{0};
    return stream_of(++last, index_of(device));
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    c10::Stream before = getStream(stream.device());
    current_streams[static_cast<size_t>(index_of(stream.device()))] = stream.id();
    return before;
  }
  void *getStreamNativeHandle(const c10::Stream stream) const override {
    return device_at(stream.device_index());
  }
  bool queryStream(const c10::Stream &stream) const override {
    return is_drained(stream.device_index(), now_ns());
  }
  void synchronizeStream(const c10::Stream &stream) const override { drain(stream.device_index()); }
  void synchronizeDevice(const c10::DeviceIndex index) const override {
    drain(index < 0 ? current_index : index);
  }
  void recordDataPtrOnStream(const c10::DataPtr &, const c10::Stream &) const override {}

  /* A timed event waits: its time is that at which the work before it was done, and a queue cannot
   * be asked later when that was. Others do not. */
  void record(void **event, const c10::Stream &stream, const c10::DeviceIndex,
              const c10::EventFlag flag) const override {
    if (*event == nullptr)
      *event = new Event;
    Event *e = event_of(*event);
    e->index = stream.device_index();
    e->timed = flag == c10::EventFlag::BACKEND_DEFAULT;
    if (e->timed)
      drain(e->index);
    e->recorded_ns = now_ns();
    if (e->timed)
      note_drained(e->index, e->recorded_ns);
  }
  void destroyEvent(void *event, const c10::DeviceIndex) const noexcept override {
    delete event_of(event);
  }
  /* On the same device the queue is ordered; between devices PJRT waits for the buffers that a
   * program reads. */
  void block(void *, const c10::Stream &) const override {}
  bool queryEvent(void *event) const override {
    Event *e = event_of(event);
    return e == nullptr || e->recorded_ns == 0 || is_drained(e->index, e->recorded_ns);
  }
  void synchronizeEvent(void *event) const override {
    Event *e = event_of(event);
    if (e != nullptr && e->recorded_ns != 0 && !is_drained(e->index, e->recorded_ns))
      drain(e->index);
  }
  double elapsedTime(void *first, void *second, const c10::DeviceIndex) const override {
    Event *from = event_of(first), *to = event_of(second);
    TORCH_CHECK(from != nullptr && to != nullptr && from->timed && to->timed,
                "Both events must be recorded and created with enable_timing=True before "
                "calculating elapsed time.");
    return static_cast<double>(to->recorded_ns - from->recorded_ns) * 1e-6;
  }

 private:
  static c10::Stream stream_of(c10::StreamId id, c10::DeviceIndex index) {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(kTpu, index), id);
  }
  static uint64_t capability_bit(c10::ScalarType type) {
#define TT_BIT(cpp, name)     \
  case c10::ScalarType::name: \
    return 1ULL << c10::kIndex_##name;
    switch (type) {
      AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(TT_BIT)
      default:
        return 0;
    }
#undef TT_BIT
  }
};

} // namespace

/* ---- generators ---- */

namespace {

struct Generators {
  std::mutex lock;
  std::deque<at::Generator> all; /* by device; a deque never moves what others refer to */
  std::optional<uint64_t> seed;
};

Generators &generators() {
  static auto *const all = new Generators;
  return *all;
}

} // namespace

TpuGenerator::TpuGenerator(c10::DeviceIndex index)
    : c10::GeneratorImpl(c10::Device(kTpu, index),
                         c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
      rng_{c10::default_rng_seed_val, 0} {}

/* Atomic: operators read and move the state without mutex_ (bridge.h). */
void TpuGenerator::put(tt_rt_rng rng) {
  __atomic_store_n(&rng_.seed, rng.seed, __ATOMIC_RELAXED);
  __atomic_store_n(&rng_.offset, rng.offset, __ATOMIC_RELAXED);
}
void TpuGenerator::set_current_seed(uint64_t seed) { put({seed, 0}); }
void TpuGenerator::set_offset(uint64_t offset) { put({current_seed(), offset}); }
uint64_t TpuGenerator::get_offset() const {
  return __atomic_load_n(&rng_.offset, __ATOMIC_RELAXED);
}
uint64_t TpuGenerator::current_seed() const {
  return __atomic_load_n(&rng_.seed, __ATOMIC_RELAXED);
}

uint64_t TpuGenerator::seed() {
  uint64_t random = c10::detail::getNonDeterministicRandom();
  set_current_seed(random);
  return random;
}

void TpuGenerator::set_state(const c10::TensorImpl &state) {
  at::detail::check_rng_state(state);
  TORCH_CHECK(state.numel() == sizeof rng_, "tpu: a generator's state has ", sizeof rng_,
              " bytes, this one ", state.numel());
  tt_rt_rng rng;
  memcpy(&rng, state.data(), sizeof rng);
  put(rng);
}

c10::intrusive_ptr<c10::TensorImpl> TpuGenerator::get_state() const {
  at::Tensor bytes =
      at::empty({static_cast<int64_t>(sizeof rng_)}, at::TensorOptions(at::kCPU).dtype(at::kByte));
  const tt_rt_rng rng = {current_seed(), get_offset()};
  memcpy(bytes.mutable_data_ptr(), &rng, sizeof rng);
  return bytes.getIntrusivePtr();
}

TpuGenerator *TpuGenerator::clone_impl() const {
  auto *copy = new TpuGenerator(device().index());
  copy->put({current_seed(), get_offset()});
  return copy;
}

const at::Generator &default_generator(c10::DeviceIndex index) {
  auto at = static_cast<size_t>(index < 0 ? current_index : index);
  Generators &g = generators();
  std::lock_guard<std::mutex> guard(g.lock);
  while (g.all.size() <= at) {
    auto made = at::make_generator<TpuGenerator>(static_cast<c10::DeviceIndex>(g.all.size()));
    if (g.seed)
      made.set_current_seed(*g.seed);
    else
      made.seed();
    g.all.push_back(std::move(made));
  }
  return g.all[at];
}

TpuGenerator *generator_or_default(const std::optional<at::Generator> &given,
                                   c10::DeviceIndex index) {
  const at::Generator &generator =
      given.has_value() && given->defined() ? *given : default_generator(index);
  TORCH_CHECK(generator.device().type() == kTpu,
              "Expected a 'tpu' device type for generator but found '", generator.device().type(),
              "'");
  return static_cast<TpuGenerator *>(generator.unsafeGetGeneratorImpl());
}

void seed_default_generators(uint64_t seed) {
  Generators &g = generators();
  std::lock_guard<std::mutex> guard(g.lock);
  g.seed = seed;
  for (at::Generator &generator : g.all) {
    std::lock_guard<std::mutex> drawing(generator.mutex());
    generator.set_current_seed(seed);
  }
}

/* ---- hooks ---- */

namespace {

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override {
    return runtime_is_open() || (!in_bad_fork() && plugin_is_there(settings()));
  }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return runtime_is_open(); }
  void init() const override { runtime(); }
  c10::DeviceIndex deviceCount() const override { return device_count(); }
  void setCurrentDevice(c10::DeviceIndex index) const override { set_device(index); }
  c10::DeviceIndex getCurrentDevice() const override { return current_index; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    c10::DeviceIndex before = current_index;
    set_device(index);
    return before;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return index < 0 ? current_index : exchangeDevice(index);
  }
  bool isPinnedPtr(const void *data) const override { return is_pinned(data); }
  c10::Allocator *getPinnedMemoryAllocator() const override { return host_allocator(); }
  c10::Device getDeviceFromPtr(void *data) const override {
    TORCH_CHECK(data != nullptr, "tpu: a null pointer is on no device");
    const tt_rt_device *device = tt_rt_storage_device(static_cast<const tt_rt_storage *>(data));
    return c10::Device(kTpu, static_cast<c10::DeviceIndex>(tt_rt_device_index(device)));
  }
  const at::Generator &getDefaultGenerator(c10::DeviceIndex index) const override {
    return default_generator(index);
  }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    return at::make_generator<TpuGenerator>(index < 0 ? current_index : index);
  }
  void resizePrivateUse1Bytes(const c10::Storage &storage, size_t size) const override {
    c10::StorageImpl *impl = storage.unsafeGetStorageImpl();
    TORCH_CHECK(impl->resizable(), "Trying to resize storage that is not resizable");
    check(tt_rt_storage_resize(static_cast<tt_rt_storage *>(impl->mutable_data()),
                               static_cast<int64_t>(size)));
    impl->set_nbytes(size);
  }
};

} // namespace

void register_device() {
  pthread_atfork(nullptr, nullptr, &after_fork_in_child);
  c10::impl::registerDeviceGuard(kTpu, new Guard);
  at::RegisterPrivateUse1HooksInterface(new Hooks);
}

} // namespace torch_tpu
