# Programs compiled by nvcc. Building them needs a CUDA toolkit and no GPU.
#
# nvcc comes from, in this order: CMAKE_CUDA_COMPILER, $CUDACXX, PATH, $CUDA_PATH, where find_package(CUDAToolkit) looks,
# and .tools/cuda, which ./run fills from PyPI on a machine that has none.
#
# KTRACE_HAVE_CUDA says whether ktrace_add_cuda_program works here.

set(KTRACE_HAVE_CUDA OFF)
if(NOT KTRACE_CUDA STREQUAL "OFF" AND (KTRACE_BUILD_TESTS OR KTRACE_BUILD_EXAMPLES OR KTRACE_BUILD_BENCH))
    include(CheckLanguage)
    if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
        find_package(CUDAToolkit QUIET)
        find_program(KTRACE_NVCC nvcc
            HINTS ENV CUDA_PATH "${CUDAToolkit_BIN_DIR}" PATHS "${PROJECT_SOURCE_DIR}/.tools/cuda" PATH_SUFFIXES bin)
        mark_as_advanced(KTRACE_NVCC)
        if(KTRACE_NVCC)
            set(CMAKE_CUDA_COMPILER "${KTRACE_NVCC}")
        endif()
    endif()
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 90)
    endif()
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        enable_language(CUDA)
        set(CMAKE_CUDA_STANDARD 17)
        set(CMAKE_CUDA_STANDARD_REQUIRED ON)
        set(KTRACE_HAVE_CUDA ON)
    elseif(KTRACE_CUDA STREQUAL "ON")
        message(FATAL_ERROR "KTRACE_CUDA is ON and nvcc was not found: set CUDACXX or CUDA_PATH, or run ./run test once")
    else()
        message(STATUS "nvcc was not found: examples, GPU tests and device benchmarks are not built")
    endif()
endif()

# ktrace_add_cuda_program(name SOURCES file... [TRACED|UNTRACED]): a program of CUDA and C++ sources, linked with libktrace.
# TRACED, the default, compiles the annotations in; UNTRACED compiles them away.
function(ktrace_add_cuda_program name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "TRACED;UNTRACED" "" "SOURCES")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES OR (arg_TRACED AND arg_UNTRACED))
        message(FATAL_ERROR "ktrace_add_cuda_program(name SOURCES file... [TRACED|UNTRACED])")
    endif()
    if(arg_UNTRACED)
        set(enable 0)
    else()
        set(enable 1)
    endif()
    add_executable(${name} ${arg_SOURCES})
    target_compile_definitions(${name} PRIVATE KTRACE_ENABLE=${enable})
    target_compile_options(${name} PRIVATE
        $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo -Xcompiler=-Wall,-Wextra>
        $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${KTRACE_WERROR}>>:-Werror=all-warnings>)
    target_link_libraries(${name} PRIVATE ktrace_static ktrace_build_flags)
endfunction()

# ktrace_gpu_test(program [argument...]): a program run by ctest, one at a time, as gpu.program. It exits with 77, having said
# why, where it finds no GPU.
function(ktrace_gpu_test name)
    add_test(NAME gpu.${name} COMMAND ${name} ${ARGN})
    set_tests_properties(gpu.${name} PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 TIMEOUT 300 RUN_SERIAL ON)
endfunction()

# ktrace_add_gpu_test(name SOURCES file... [TRACED|UNTRACED] [ARGUMENTS argument...]): a CUDA program run by ctest. It
# exits with 77, having said why, where it finds no GPU.
function(ktrace_add_gpu_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "TRACED;UNTRACED" "" "SOURCES;ARGUMENTS")
    set(form TRACED)
    if(arg_UNTRACED)
        set(form UNTRACED)
    endif()
    ktrace_add_cuda_program(${name} SOURCES ${arg_SOURCES} ${form})
    ktrace_gpu_test(${name} ${arg_ARGUMENTS})
endfunction()
