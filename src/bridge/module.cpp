/* The Python module torch_tpu._C: what torch_tpu/_internal is built on. Nothing here is public. */
#include <ATen/Context.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/tensor_memoryformats.h>

#include "bridge/bridge.h"

namespace torch_tpu {
namespace {

namespace py = pybind11;

/* ---- set-up ---- */

void configure(const std::string &plugin, const std::vector<std::string> &dirs, int devices,
               const std::string &cache, const std::string &problem, bool cache_asked) {
  update_settings([&](Settings &s) {
    s.plugin = plugin;
    s.problem = problem;
    s.dirs = dirs;
    s.devices = devices;
    s.cache = cache;
    s.cache_asked = cache_asked;
  });
}

std::string find_plugin(const std::string &name, const std::vector<std::string> &dirs) {
  std::vector<const char *> folders;
  for (const std::string &dir : dirs)
    folders.push_back(dir.c_str());
  char path[4096];
  check(tt_pj_plugin_find(name.c_str(), folders.data(), folders.size(), path, sizeof path));
  return path;
}

bool devices_can_be_chosen(const std::string &name_or_path) {
  return tt_pj_plugin_devices_option(name_or_path.c_str()) != nullptr;
}

std::vector<std::string> plugin_names() {
  std::vector<std::string> names;
  for (size_t i = 0; tt_pj_plugin_name_at(i) != nullptr; i++)
    names.emplace_back(tt_pj_plugin_name_at(i));
  return names;
}

bool is_available() { return at::globalContext().getAcceleratorHooksInterface(kTpu).isAvailable(); }

/* ---- devices ---- */

void synchronize(c10::DeviceIndex index) {
  if (runtime_is_open())
    check(tt_rt_synchronize(device_at(index)));
}

py::dict device_info(c10::DeviceIndex index) {
  tt_rt_device_info info = {};
  tt_rt_device_describe(device_at(index), &info);
  py::dict all;
  all["kind"] = info.kind;
  all["name"] = info.name;
  all["platform"] = info.platform;
  all["platform_version"] = info.platform_version;
  all["plugin_path"] = info.plugin_path;
  all["pjrt_version"] = py::make_tuple(info.pjrt_major, info.pjrt_minor);
  return all;
}

py::dict memory(c10::DeviceIndex index) {
  tt_rt_memory m = {};
  if (runtime_is_open())
    tt_rt_memory_get(device_at(index), &m);
  else
    m.reserved = m.limit = -1;
  py::dict all;
  all["allocated"] = m.allocated;
  all["peak"] = m.peak;
  all["storages"] = m.storages;
  all["allocations"] = m.allocations;
  all["reserved"] = m.reserved;
  all["limit"] = m.limit;
  return all;
}

void reset_peak(c10::DeviceIndex index) {
  if (runtime_is_open())
    tt_rt_memory_reset_peak(device_at(index));
}

/* ---- how it runs ---- */

int mode() { return settings().mode; }

void set_mode(int wanted) {
  update_settings([&](Settings &s) { s.mode = static_cast<tt_rt_mode>(wanted); });
}

std::optional<int> precision() { return settings().precision; }

void set_precision(std::optional<int> wanted) {
  update_settings([&](Settings &s) {
    s.precision.reset();
    if (wanted)
      s.precision = static_cast<tt_hlo_precision>(*wanted);
  });
}

void set_torch_precision(int wanted) {
  update_settings([&](Settings &s) { s.torch_precision = static_cast<tt_hlo_precision>(wanted); });
}

/* What the next call is lowered with. */
int effective_precision() { return tt_rt_precision_get(runtime()); }

bool exact() { return settings().exact; }

void set_exact(bool on) {
  update_settings([&](Settings &s) { s.exact = on; });
}

void set_check_nans(bool on) {
  update_settings([&](Settings &s) { s.check_nans = on; });
}

void set_dump(const std::string &folder) {
  update_settings([&](Settings &s) { s.dump = folder; });
}

/* ---- statistics ---- */

py::dict stats() {
  tt_rt_stats s = {};
  if (runtime_is_open())
    tt_rt_stats_get(runtime(), &s);
  py::dict all;
#define TT_STAT(name) all[#name] = s.name
  TT_STAT(programs);
  TT_STAT(programs_cached);
  TT_STAT(loaded);
  TT_STAT(hits);
  TT_STAT(misses);
  TT_STAT(promoted);
  TT_STAT(executions);
  TT_STAT(compile_ns);
  TT_STAT(lower_ns);
  TT_STAT(meta_ns);
  TT_STAT(host_to_device_bytes);
  TT_STAT(device_to_host_bytes);
#undef TT_STAT
  return all;
}

void clear_cache() {
  if (runtime_is_open())
    tt_rt_cache_clear(runtime());
}

/* A dtype, layout or memory format of the dispatcher, where it is a number, as Python's object. */
py::object enum_object(const std::string &kind, int64_t number) {
  PyObject *object = nullptr; /* borrowed */
  if (kind == "ScalarType")
    object = reinterpret_cast<PyObject *>(torch::getTHPDtype(static_cast<c10::ScalarType>(number)));
  else if (kind == "Layout")
    object = reinterpret_cast<PyObject *>(torch::getTHPLayout(static_cast<c10::Layout>(number)));
  else
    object = torch::utils::getTHPMemoryFormat(static_cast<c10::MemoryFormat>(number));
  return py::reinterpret_borrow<py::object>(object);
}

at::Generator generator(c10::DeviceIndex index) { return default_generator(index); }

/* `call` turns C++ exceptions into Python's; `wait` also releases the GIL. */
template <typename Function>
auto call(Function function) {
  return torch::wrap_pybind_function(function);
}
template <typename Function>
auto wait(Function function) {
  return torch::wrap_pybind_function_no_gil(function);
}

void define(py::module_ &m) {
  m.def("configure", call(&configure), py::arg("plugin"), py::arg("dirs"), py::arg("devices"),
        py::arg("cache"), py::arg("problem") = "", py::arg("cache_asked") = false);
  m.def("problem", +[] { return settings().problem; });
  m.def("find_plugin", call(&find_plugin));
  m.def("plugin_names", call(&plugin_names));
  m.def("devices_can_be_chosen", call(&devices_can_be_chosen));
  m.def("is_available", call(&is_available));
  m.def("is_open", &runtime_is_open);
  m.def("in_bad_fork", &in_bad_fork);
  m.def("open", wait(+[] { runtime(); }));
  m.def("shut_down", &shut_down);
  m.def("device_count", &device_count, py::call_guard<py::gil_scoped_release>());
  m.def("current_device", &current_device);
  m.def("set_device", call(&set_device));
  m.def("synchronize", wait(&synchronize));
  m.def("device_info", call(&device_info));
  m.def("memory", call(&memory));
  m.def("memory_info", call(&memory_info));
  m.def("reset_peak", call(&reset_peak));
  m.def("mode", &mode);
  m.def("set_mode", call(&set_mode));
  m.def("precision", &precision);
  m.def("set_precision", call(&set_precision));
  m.def("set_torch_precision", call(&set_torch_precision));
  m.def("effective_precision", call(&effective_precision));
  m.def("exact", &exact);
  m.def("set_exact", call(&set_exact));
  m.def("set_check_nans", call(&set_check_nans));
  m.def("set_dump", call(&set_dump));
  m.def("stats", call(&stats));
  m.def("clear_cache", wait(&clear_cache));
  m.def("enum_object", call(&enum_object));
  m.def("default_generator", call(&generator));
  m.def("seed_default_generators", call(&seed_default_generators));
}

} // namespace
} // namespace torch_tpu

PYBIND11_MODULE(_C, m) {
  torch_tpu::register_device();
  torch_tpu::register_memory();
  torch_tpu::register_autocast();
  torch_tpu::register_kernels();
  torch_tpu::define(m);
}
