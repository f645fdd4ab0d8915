# What the wheel carries beside the modules of runner/python/lockstep, relative to that package: the runner, the suite
# (laid out as this repository), and what the eager worker is built from at the user's.
find_library(LOCKSTEP_MPFR libmpfr.a)
find_library(LOCKSTEP_GMP libgmp.a)
find_path(LOCKSTEP_HAVE_MPFR mpfr.h)
find_path(LOCKSTEP_HAVE_GMP gmp.h PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE})
if(NOT LOCKSTEP_MPFR OR NOT LOCKSTEP_GMP OR NOT LOCKSTEP_HAVE_MPFR OR NOT LOCKSTEP_HAVE_GMP)
  message(FATAL_ERROR "MPFR and GMP are needed, headers and archives (libmpfr.a, libgmp.a). Their Debian packages are in "
                      "ci/packages.txt; or set LOCKSTEP_PREFIX to a prefix that has them.")
endif()

if(LOCKSTEP_CARRIED)
  install(PROGRAMS ${LOCKSTEP_CARRIED} DESTINATION bin RENAME lockstep)
else()
  install(TARGETS lockstep RUNTIME DESTINATION bin)
  if(LOCKSTEP_WITH_CUDA AND LOCKSTEP_NVCC)
    install(FILES ${cuda_digests} DESTINATION bin)
  endif()
endif()

# carry(FOLDER PATTERN...): the files of a folder of ours, but for tests and what they read.
function(carry folder)
  install(DIRECTORY ${folder}/ DESTINATION suite/${folder} FILES_MATCHING ${ARGN}
          PATTERN __pycache__ EXCLUDE PATTERN testdata EXCLUDE
          REGEX "/test_[^/]*$|/conftest\\.py$|_test\\.cpp$|/testing\\.h$|/cases/invalid$" EXCLUDE)
endfunction()
foreach(folder cases expected runner/paths)
  carry(${folder} PATTERN *.json PATTERN *.md)
endforeach()
carry(runner/workers/compiled/lockstep_worker PATTERN *.py)
install(FILES runner/explain/knobs.json DESTINATION suite/runner/explain)
install(FILES runner/run/dask_bridge.py DESTINATION suite/runner/run)

# The rooms of the eager worker (ci/test_rooms.py holds its includes to them), and the libraries that they use, as a prefix.
foreach(room base program workers/eager)
  carry(runner/${room} PATTERN *.h PATTERN *.cpp)
endforeach()
foreach(folder nlohmann/json.hpp fmt/format.h tl/expected.hpp)
  string(MAKE_C_IDENTIFIER "LOCKSTEP_HAVE_${folder}" found)
  cmake_path(GET folder PARENT_PATH folder)
  install(DIRECTORY ${${found}}/${folder} DESTINATION prefix/include)
endforeach()
install(FILES ${LOCKSTEP_HAVE_MPFR}/mpfr.h ${LOCKSTEP_HAVE_GMP}/gmp.h DESTINATION prefix/include)
install(FILES ${LOCKSTEP_MPFR} ${LOCKSTEP_GMP} DESTINATION prefix/lib)
