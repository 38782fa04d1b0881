# Flags of our own targets. They never reach a consumer of the library.

add_library(ktrace_build_flags INTERFACE)
target_compile_options(ktrace_build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic>
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>)
if(KTRACE_WERROR)
    target_compile_options(ktrace_build_flags INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
endif()
if(KTRACE_SANITIZE)
    target_compile_options(ktrace_build_flags INTERFACE
        -fsanitize=${KTRACE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(ktrace_build_flags INTERFACE -fsanitize=${KTRACE_SANITIZE})
endif()
if(KTRACE_FUZZ)
    target_compile_options(ktrace_build_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# ktrace_check_listed(folder file...): say which sources in `folder` and below (the command's own apart, and what devices run,
# whose machine code is in the repository) are not listed.
function(ktrace_check_listed folder)
    file(GLOB_RECURSE all RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "${folder}/*.c")
    if(NOT folder STREQUAL "src/cli")
        list(FILTER all EXCLUDE REGEX "^src/cli/|^src/backend/service/")
    endif()
    list(REMOVE_ITEM all ${ARGN})
    if(all)
        message(WARNING "not listed in CMakeLists.txt, so not compiled: ${all}")
    endif()
endfunction()
