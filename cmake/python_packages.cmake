# What comes from Python packages of the interpreter that builds: the PJRT header, and torch. Neither is imported
# (importing torch takes two seconds): only their folders are looked up.

function(tt_python out code)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "${code}"
    OUTPUT_VARIABLE text ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Sets TT_PJRT_INCLUDE_DIR, and TT_XLA_PLUGIN (a plugin for the tests; empty if the package is not there).
function(tt_find_pjrt)
  tt_python(root "import importlib.util as u
print(list(u.find_spec('xla_plugins.xla_cpu_pjrt').submodule_search_locations)[0])")
  set(include "${TT_PJRT_INCLUDE}")
  if(NOT include AND root)
    set(include "${root}/include")
  endif()
  if(NOT EXISTS "${include}/pjrt_c_api.h")
    message(FATAL_ERROR "pjrt_c_api.h not found in \"${include}\".\n"
      "It is taken from the package xla-cpu-pjrt of ${Python_EXECUTABLE}: pip install xla-cpu-pjrt there, choose "
      "another interpreter with -DPython_EXECUTABLE=..., or name the header's folder with -DTT_PJRT_INCLUDE=...")
  endif()
  set(plugin "")
  if(root AND EXISTS "${root}/xla_cpu_pjrt.so")
    set(plugin "${root}/xla_cpu_pjrt.so")
  endif()
  message(STATUS "PJRT header: ${include}/pjrt_c_api.h; plugin for tests: ${plugin}")
  set(TT_PJRT_INCLUDE_DIR "${include}" PARENT_SCOPE)
  set(TT_XLA_PLUGIN "${plugin}" PARENT_SCOPE)
endfunction()

# Sets TT_TORCH_ROOT, the folder of the package; empty: no bridge.
function(tt_find_torch)
  set(TT_TORCH_ROOT "" PARENT_SCOPE)
  if(TT_BRIDGE STREQUAL "OFF")
    return()
  endif()
  tt_python(root "import importlib.util as u
print(list(u.find_spec('torch').submodule_search_locations)[0])")
  if(NOT EXISTS "${root}/lib/libtorch_cpu.so")
    if(TT_BRIDGE STREQUAL "ON")
      message(FATAL_ERROR "TT_BRIDGE=ON, but ${Python_EXECUTABLE} has no torch: pip install torch==2.13.0 there")
    endif()
    message(STATUS "torch not found by ${Python_EXECUTABLE}: building the C parts only")
    return()
  endif()
  tt_python(version "import importlib.metadata as m; print(m.version('torch'))")
  if(NOT version MATCHES "^2\\.13\\.")
    message(FATAL_ERROR "the bridge is written for torch 2.13; ${Python_EXECUTABLE} has ${version}")
  endif()
  message(STATUS "torch ${version}: ${root}")
  set(TT_TORCH_ROOT "${root}" PARENT_SCOPE)
endfunction()
