/* Memory: allocators of the device and of pinned host memory, and their statistics. */
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <torch/library.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "bridge/bridge.h"

namespace torch_tpu {

std::string bytes_text(int64_t bytes) {
  const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < TT_COUNT(units); unit++)
    value /= 1024;
  char text[32];
  snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
  return text;
}

namespace {

void delete_storage(void *context) {
  if (!in_bad_fork()) /* its locks may be held by threads that the fork left behind */
    tt_rt_storage_release(static_cast<tt_rt_storage *>(context));
}

tt_rt_tensor bytes_of(tt_rt_storage *storage, const int64_t *size) {
  static const int64_t stride = 1;
  return tt_rt_tensor{storage, TT_U8, 1, size, &stride, 0};
}

size_t host_bytes(int pages_name) {
  return static_cast<size_t>(sysconf(pages_name)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    tt_rt_storage *storage = nullptr;
    check(tt_rt_storage_new(device_at(-1), static_cast<int64_t>(size), &storage));
    return data_ptr_of(storage, c10::Device(kTpu, current_device()));
  }
  c10::DeleterFnPtr raw_deleter() const override { return &delete_storage; }
  void copy_data(void *target, const void *source, size_t size) const override {
    auto bytes = static_cast<int64_t>(size);
    tt_rt_tensor to = bytes_of(static_cast<tt_rt_storage *>(target), &bytes);
    tt_rt_tensor from = bytes_of(static_cast<tt_rt_storage *>(const_cast<void *>(source)), &bytes);
    check(tt_rt_copy(&to, &from));
  }
  bool initialized() override { return runtime_is_open(); }
  void emptyCache(c10::MempoolId_t) override {} /* the plugin alone keeps memory back */
  void recordStream(const c10::DataPtr &, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override;
  void resetAccumulatedStats(c10::DeviceIndex index) override {
    allocations_before_[static_cast<size_t>(index)] = memory_of(index).allocations;
  }
  void resetPeakStats(c10::DeviceIndex index) override {
    tt_rt_memory_reset_peak(device_at(index));
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex index) override;

 private:
  static tt_rt_memory memory_of(c10::DeviceIndex index) {
    tt_rt_memory memory = {};
    tt_rt_memory_get(device_at(index), &memory);
    return memory;
  }
  std::array<std::atomic<int64_t>, kMaxDevices> allocations_before_ = {};
};

c10::CachingDeviceAllocator::DeviceStats DeviceAllocator::getDeviceStats(c10::DeviceIndex index) {
  tt_rt_memory memory = memory_of(index);
  c10::CachingDeviceAllocator::DeviceStats stats;
  auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  c10::CachingAllocator::Stat &count = stats.allocation[all];
  count.current = memory.storages;
  count.allocated = memory.allocations - allocations_before_[static_cast<size_t>(index)];
  count.freed = count.allocated - count.current;
  c10::CachingAllocator::Stat &bytes = stats.allocated_bytes[all];
  bytes.current = memory.allocated;
  bytes.peak = memory.peak;
  stats.active[all] = count;
  stats.active_bytes[all] = bytes;
  stats.requested_bytes[all] = bytes;
  stats.reserved_bytes[all] = bytes;
  if (memory.reserved >= 0) {
    stats.reserved_bytes[all].current = memory.reserved;
    stats.reserved_bytes[all].peak = std::max(memory.reserved, memory.peak);
  }
  stats.num_device_alloc = memory.allocations;
  return stats;
}

/* XLA's and our own plugin for the host's CPU. */
bool is_host(const char *platform) {
  return strcmp(platform, "cpu") == 0 || strcmp(platform, "tt_cpu") == 0;
}

/* {free, total}. A plugin on the host's own memory has no account; the host has. */
std::pair<size_t, size_t> DeviceAllocator::getMemoryInfo(c10::DeviceIndex index) {
  tt_rt_memory memory = memory_of(index);
  if (memory.limit >= 0) {
    int64_t used = std::max(memory.allocated, memory.reserved);
    return {static_cast<size_t>(std::max<int64_t>(memory.limit - used, 0)),
            static_cast<size_t>(memory.limit)};
  }
  tt_rt_device_info info = {};
  tt_rt_device_describe(device_at(index), &info);
  TORCH_CHECK_NOT_IMPLEMENTED(info.platform != nullptr && is_host(info.platform),
                              "tpu: this plugin does not say how much memory the device has");
  return {host_bytes(_SC_AVPHYS_PAGES), host_bytes(_SC_PHYS_PAGES)};
}

/* Host memory that starts at a page. */
class HostAllocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void *data = nullptr;
    if (size > 0) {
      data = std::aligned_alloc(kPage, (size + kPage - 1) / kPage * kPage);
      if (data == nullptr)
        C10_THROW_ERROR(
            OutOfMemoryError,
            "pin_memory: no " + bytes_text(static_cast<int64_t>(size)) + " of host memory");
      add(data, size);
    }
    return c10::DataPtr(data, data, &release, c10::Device(c10::DeviceType::CPU));
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void *target, const void *source, size_t size) const override {
    default_copy_data(target, source, size);
  }
  bool record_event(void *data, void *, c10::Stream) override { return is_pinned(data); }
  void empty_cache() override {}
  at::HostStats get_stats() override {
    std::shared_lock<std::shared_mutex> guard(lock_);
    at::HostStats stats;
    stats.active_requests = requests_;
    stats.active_bytes = bytes_;
    stats.allocations = requests_;
    stats.allocated_bytes = bytes_;
    stats.num_host_alloc = requests_.allocated;
    stats.num_host_free = requests_.freed;
    return stats;
  }
  void reset_accumulated_stats() override {
    std::unique_lock<std::shared_mutex> guard(lock_);
    requests_.reset_accumulated();
    bytes_.reset_accumulated();
  }
  void reset_peak_stats() override {
    std::unique_lock<std::shared_mutex> guard(lock_);
    requests_.reset_peak();
    bytes_.reset_peak();
  }
  bool is_pinned(const void *data) const {
    auto address = reinterpret_cast<uintptr_t>(data);
    std::shared_lock<std::shared_mutex> guard(lock_);
    auto next = blocks_.upper_bound(address);
    if (next == blocks_.begin())
      return false;
    const auto &[start, size] = *std::prev(next);
    return address - start < size;
  }

 private:
  static constexpr size_t kPage = 4096;
  static void release(void *data);
  void add(void *data, size_t size) {
    std::unique_lock<std::shared_mutex> guard(lock_);
    blocks_[reinterpret_cast<uintptr_t>(data)] = size;
    requests_.increase(1);
    bytes_.increase(size);
  }
  void remove(void *data) {
    std::unique_lock<std::shared_mutex> guard(lock_);
    auto block = blocks_.find(reinterpret_cast<uintptr_t>(data));
    if (block == blocks_.end())
      return;
    requests_.decrease(1);
    bytes_.decrease(block->second);
    blocks_.erase(block);
  }
  mutable std::shared_mutex lock_; /* of all below */
  std::map<uintptr_t, size_t> blocks_;
  at::Stat requests_, bytes_;
};

DeviceAllocator *the_device_allocator() {
  static auto *const allocator = new DeviceAllocator;
  return allocator;
}

HostAllocator *the_host_allocator() {
  static auto *const allocator = new HostAllocator;
  return allocator;
}

void HostAllocator::release(void *data) {
  the_host_allocator()->remove(data);
  std::free(data);
}

} // namespace

c10::Allocator *device_allocator() { return the_device_allocator(); }
c10::Allocator *host_allocator() { return the_host_allocator(); }
bool is_pinned(const void *data) { return the_host_allocator()->is_pinned(data); }

std::pair<size_t, size_t> memory_info(c10::DeviceIndex index) {
  return the_device_allocator()->getMemoryInfo(index < 0 ? current_device() : index);
}

c10::DataPtr data_ptr_of(tt_rt_storage *taken, c10::Device device) {
  return c10::DataPtr(taken, taken, &delete_storage, device);
}

void register_memory() {
  static torch::Library aten(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__,
                             __LINE__);
  /* One queue a device: memory is never given back before the work that uses it was queued. */
  aten.impl("record_stream", +[](at::Tensor &, c10::Stream) {});
  c10::SetAllocator(kTpu, the_device_allocator());
  at::setHostAllocator(kTpu, the_host_allocator());
}

} // namespace torch_tpu
