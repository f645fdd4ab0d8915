# Finds the libtorch inside the Python package torch of the interpreter LOCKSTEP_PYTHON.
#
# torch's own CMake package stops when a CUDA build meets a machine without a CUDA toolkit. We use no CUDA
# headers, so this module needs none. It does not import torch, which would cost seconds.
#
# Sets Libtorch_VERSION, Libtorch_CUDA ("none" or a version), Libtorch_FOLDER and the target Libtorch::torch.
set(LOCKSTEP_PYTHON "$ENV{LOCKSTEP_PYTHON}" CACHE FILEPATH "The Python interpreter that has torch")
set(remedy "Set LOCKSTEP_PYTHON to an interpreter that has torch, or let ci/lockstep provide one.")
if(NOT LOCKSTEP_PYTHON)
  message(FATAL_ERROR "Where is torch? ${remedy}")
endif()

execute_process(COMMAND ${LOCKSTEP_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/../../runner/python/lockstep/torch_facts.py
                OUTPUT_VARIABLE facts ERROR_VARIABLE error RESULT_VARIABLE result
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${result} from ${LOCKSTEP_PYTHON}: ${error}\n${remedy}")
endif()
string(JSON Libtorch_FOLDER GET "${facts}" folder)
string(JSON Libtorch_VERSION GET "${facts}" version)
string(JSON Libtorch_CUDA GET "${facts}" cuda)
if(NOT Libtorch_CUDA)
  set(Libtorch_CUDA none)
endif()

foreach(file include/ATen/core/dispatch/Dispatcher.h lib/libc10.so lib/libtorch_cpu.so lib/libtorch.so)
  if(NOT EXISTS ${Libtorch_FOLDER}/${file})
    message(FATAL_ERROR "torch ${Libtorch_VERSION} in ${Libtorch_FOLDER} has no ${file}. ${remedy}")
  endif()
endforeach()
file(STRINGS ${Libtorch_FOLDER}/lib/libc10.so new_abi REGEX "St7__cxx11" LIMIT_COUNT 1)
if(NOT new_abi)
  message(FATAL_ERROR "torch ${Libtorch_VERSION} was built with the old C++ ABI (before CXX11), which g++ "
                      "no longer speaks by default. Use torch 2.7 or newer.")
endif()
if(CMAKE_CXX_STANDARD LESS 20)
  message(FATAL_ERROR "torch's headers need C++20 (since 2.15).")
endif()

if(NOT TARGET Libtorch::torch)
  add_library(Libtorch::torch INTERFACE IMPORTED)
  # Kernels register when their library is loaded, so each is linked even where no symbol of it is used.
  target_link_options(Libtorch::torch INTERFACE LINKER:--no-as-needed LINKER:--allow-shlib-undefined
                      LINKER:-rpath,${Libtorch_FOLDER}/lib)
  foreach(name c10 torch_cpu c10_cuda torch_cuda torch)
    set(library ${Libtorch_FOLDER}/lib/lib${name}.so)
    if(EXISTS ${library})
      if(NOT name STREQUAL "torch")
        add_library(Libtorch::${name} SHARED IMPORTED)
        set_target_properties(Libtorch::${name} PROPERTIES IMPORTED_LOCATION ${library})
        target_link_libraries(Libtorch::torch INTERFACE Libtorch::${name})
      else()
        target_link_libraries(Libtorch::torch INTERFACE ${library})
      endif()
    endif()
  endforeach()
  target_include_directories(Libtorch::torch SYSTEM INTERFACE
                             ${Libtorch_FOLDER}/include ${Libtorch_FOLDER}/include/torch/csrc/api/include)
endif()
set(Libtorch_FOUND TRUE)
message(STATUS "Found Libtorch: ${Libtorch_VERSION} (CUDA: ${Libtorch_CUDA}) in ${Libtorch_FOLDER}")
