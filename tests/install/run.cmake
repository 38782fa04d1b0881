# Install into a fresh prefix, move it, and build a project against it with find_package and with pkg-config.
#     cmake -D BUILD=<build> -D WORK=<folder> -D VERSION=<version> -D C=<cc> -D CXX=<c++> -D PKG_CONFIG=<pkg-config>
#           -D GENERATOR=<generator> -P run.cmake

function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(JOIN ARGN " " command)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "$ ${command}\n${output}\n(${result})")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

set(consumer "${CMAKE_CURRENT_LIST_DIR}/consumer")
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

# Moved after installing: nothing in it may hold the path it was installed to.
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/first")
file(RENAME "${WORK}/first" "${WORK}/prefix")
set(prefix "${WORK}/prefix")

file(GLOB_RECURSE packages "${prefix}/*/ktrace.pc" "${prefix}/*/ktraceConfig.cmake")
list(LENGTH packages count)
if(NOT count EQUAL 2)
    message(FATAL_ERROR "expected one ktrace.pc and one ktraceConfig.cmake, found: ${packages}")
endif()

# Every relative link of the installed documentation leads to something that was installed.
file(GLOB_RECURSE pages "${prefix}/*.md")
set(links 0)
foreach(page IN LISTS pages)
    cmake_path(GET page PARENT_PATH folder)
    file(READ "${page}" text)
    string(REPLACE "](" "<LINK " text "${text}")
    string(REGEX REPLACE "[][;]" " " text "${text}") # which lists of CMake take for their own
    string(REGEX MATCHALL "<LINK [^)#]+" found "${text}")
    foreach(link IN LISTS found)
        string(SUBSTRING "${link}" 6 -1 link)
        if(NOT link MATCHES "^https?:")
            if(NOT EXISTS "${folder}/${link}")
                message(FATAL_ERROR "${page} links to ${link}, which is not installed")
            endif()
            math(EXPR links "${links} + 1")
        endif()
    endforeach()
endforeach()
if(links EQUAL 0)
    message(FATAL_ERROR "no links found in: ${pages}")
endif()
message("documentation: ${links} links lead somewhere")

# find_package
run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${consumer}" -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${prefix}" "-DKTRACE_VERSION=${VERSION}"
    "-DCMAKE_C_COMPILER=${C}" "-DCMAKE_CXX_COMPILER=${CXX}" -DCMAKE_BUILD_TYPE=Release)
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run("${CMAKE_CTEST_COMMAND}" --test-dir "${WORK}/build" --output-on-failure --no-tests=error)
message("find_package: ${output}")

# pkg-config
file(GLOB_RECURSE pc "${prefix}/*/ktrace.pc")
cmake_path(GET pc PARENT_PATH pc_dir)
if(DEFINED ENV{PKG_CONFIG_PATH})
    set(ENV{PKG_CONFIG_PATH} "${pc_dir}:$ENV{PKG_CONFIG_PATH}")
else()
    set(ENV{PKG_CONFIG_PATH} "${pc_dir}")
endif()
run("${PKG_CONFIG}" --modversion ktrace)
if(NOT output STREQUAL VERSION)
    message(FATAL_ERROR "ktrace.pc says ${output}, not ${VERSION}")
endif()
run("${PKG_CONFIG}" --cflags --libs ktrace)
separate_arguments(shared UNIX_COMMAND "${output}")
run("${PKG_CONFIG}" --cflags --libs --static ktrace)
separate_arguments(static UNIX_COMMAND "${output}")
list(TRANSFORM static REPLACE "^-lktrace$" "-l:libktrace.a")
run("${PKG_CONFIG}" --variable=libdir ktrace)
set(libdir "${output}")

foreach(form shared static)
    run("${C}" -std=c11 -Wall -Wextra -Wpedantic -Werror "${consumer}/consumer.c" -o "${WORK}/c_${form}" ${${form}}
        "-Wl,-rpath,${libdir}")
    run("${CXX}" -std=c++17 -Wall -Wextra -Wpedantic -Werror "${consumer}/consumer.cc" -o "${WORK}/cxx_${form}" ${${form}}
        "-Wl,-rpath,${libdir}")
    run("${WORK}/c_${form}" "${VERSION}")
    run("${WORK}/cxx_${form}" "${VERSION}")
endforeach()
message("pkg-config: C and C++, shared and static")

# The command finds nothing but itself.
file(GLOB demo "${prefix}/share/ktrace/demo.ktrace")
if(demo)
    run("${prefix}/bin/ktrace" info "${demo}")
    message("${output}")
endif()
