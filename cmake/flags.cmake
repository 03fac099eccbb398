# tt_flags: what every target of ours is compiled with.
add_library(tt_flags INTERFACE)
target_compile_features(tt_flags INTERFACE c_std_17)
target_compile_definitions(tt_flags INTERFACE _GNU_SOURCE)
target_include_directories(tt_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(tt_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wvla -Werror
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
  $<$<COMPILE_LANG_AND_ID:C,GNU>:-Wjump-misses-init>)
if(TT_SANITIZE)
  # Instrumented code confuses gcc about what is initialised.
  target_compile_options(tt_flags INTERFACE -Wno-maybe-uninitialized
    -fsanitize=${TT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tt_flags INTERFACE -fsanitize=${TT_SANITIZE})
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
