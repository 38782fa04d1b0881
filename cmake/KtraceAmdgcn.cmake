# Code objects for gfx942 and gfx950. Building them needs clang and lld of LLVM 22 (Debian: clang-22 lld-22) and no GPU.
#
# KTRACE_HAVE_AMDGCN says whether ktrace_add_code_object works here. KTRACE_AMDGCN_CLANG, KTRACE_LLVM_MC and
# KTRACE_LLVM_OBJDUMP are the programs.

set(KTRACE_HAVE_AMDGCN OFF)
if(NOT KTRACE_AMDGCN STREQUAL "OFF" AND (KTRACE_BUILD_TESTS OR KTRACE_BUILD_EXAMPLES OR KTRACE_BUILD_BENCH))
    find_program(KTRACE_AMDGCN_CLANG NAMES clang-22 PATHS /opt/rocm/llvm/bin NAMES clang-22 clang)
    find_program(KTRACE_AMDGCN_LLD NAMES ld.lld-22 ld.lld PATHS /opt/rocm/llvm/bin)
    find_program(KTRACE_LLVM_MC NAMES llvm-mc-22)
    find_program(KTRACE_LLVM_OBJDUMP NAMES llvm-objdump-22)
    mark_as_advanced(KTRACE_AMDGCN_CLANG KTRACE_AMDGCN_LLD KTRACE_LLVM_MC KTRACE_LLVM_OBJDUMP)
    if(KTRACE_AMDGCN_CLANG AND KTRACE_AMDGCN_LLD)
        set(KTRACE_HAVE_AMDGCN ON)
    elseif(KTRACE_AMDGCN STREQUAL "ON")
        message(FATAL_ERROR "KTRACE_AMDGCN is ON and clang-22 or ld.lld-22 was not found: install clang-22 and lld-22")
    else()
        message(STATUS "clang-22 and lld-22 were not found: kernels for gfx942 and gfx950 are not built")
    endif()
endif()

# ktrace_add_code_object(path SOURCE file CHIP gfx942|gfx950 [LANGUAGE c|hip|cl] [OPTIMIZE 0|1|2|3|s] [UNTRACED]
#                        [OPTIONS option...])
# Compiles one source to a code object at `path` (relative to the binary folder); sets <name>_path where name is the path's
# file name without its extension. Depend on the file, or on the target <name>.
function(ktrace_add_code_object path)
    cmake_parse_arguments(PARSE_ARGV 1 arg "UNTRACED" "SOURCE;CHIP;LANGUAGE;OPTIMIZE" "OPTIONS")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCE OR NOT arg_CHIP)
        message(FATAL_ERROR "ktrace_add_code_object(path SOURCE file CHIP chip ...): see cmake/KtraceAmdgcn.cmake")
    endif()
    if(NOT arg_LANGUAGE)
        set(arg_LANGUAGE c)
    endif()
    if(NOT DEFINED arg_OPTIMIZE)
        set(arg_OPTIMIZE 2)
    endif()
    set(enable 1)
    if(arg_UNTRACED)
        set(enable 0)
    endif()
    cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" OUTPUT_VARIABLE output)
    cmake_path(ABSOLUTE_PATH arg_SOURCE BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE source)
    cmake_path(GET output STEM name)
    if(arg_LANGUAGE STREQUAL "hip")
        set(language -x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib --offload-arch=${arg_CHIP}
            -std=c++17)
    elseif(arg_LANGUAGE STREQUAL "cl")
        set(language -x cl -cl-std=CL2.0 --target=amdgcn-amd-amdhsa -mcpu=${arg_CHIP} -nogpulib)
    else()
        set(language -x c -std=c11 --target=amdgcn-amd-amdhsa -mcpu=${arg_CHIP} -nogpulib)
    endif()
    # The driver passes -MD and -MF on for C, but not to the device's part of HIP.
    set(dependencies -Xclang -dependency-file -Xclang "${output}.d" -Xclang -MT -Xclang "${output}")
    add_custom_command(OUTPUT "${output}"
        COMMAND "${KTRACE_AMDGCN_CLANG}" ${language} -O${arg_OPTIMIZE} -Wall -Wextra -Werror -DKTRACE_ENABLE=${enable}
            "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=" # file names are in the code object: the same wherever it is built
            -I "${PROJECT_SOURCE_DIR}/include" ${arg_OPTIONS} ${dependencies} "${source}" -o "${output}"
        DEPENDS "${source}" DEPFILE "${output}.d"
        COMMENT "Code object ${name} for ${arg_CHIP}" VERBATIM)
    add_custom_target(${name} ALL DEPENDS "${output}")
    set(${name}_path "${output}" PARENT_SCOPE)
endfunction()

# ktrace_simulator_test(name CHIP gfx942|gfx950 COMMAND ...): a program that opens HIP through libktrace, run by ctest on the
# simulator of that chip, as sim.name.
function(ktrace_simulator_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "CHIP" "COMMAND")
    add_test(NAME sim.${name} COMMAND ${arg_COMMAND})
    set_tests_properties(sim.${name} PROPERTIES LABELS sim SKIP_RETURN_CODE 77 TIMEOUT 120
        ENVIRONMENT "KTRACE_HIP_LIBRARY=$<TARGET_FILE:ktrace_sim>;KTRACE_SIM_CHIP=${arg_CHIP}")
endfunction()
