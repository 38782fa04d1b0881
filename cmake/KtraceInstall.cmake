# What `cmake --install` puts where.

include(CMakePackageConfigHelpers)

set(KTRACE_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/ktrace")

install(TARGETS ktrace ktrace_static EXPORT ktrace
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(KTRACE_SIMULATOR)
    install(TARGETS ktrace_sim LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
set_target_properties(ktrace_command PROPERTIES EXPORT_NAME command)
install(TARGETS ktrace_command EXPORT ktrace RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY include/ktrace DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(EXPORT ktrace NAMESPACE ktrace:: FILE ktraceTargets.cmake DESTINATION "${KTRACE_CMAKE_DIR}")

configure_package_config_file(cmake/ktraceConfig.cmake.in ktraceConfig.cmake INSTALL_DESTINATION "${KTRACE_CMAKE_DIR}")
# Before 1.0 a minor version may change the ABI.
write_basic_package_version_file(ktraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ktraceConfig.cmake" "${PROJECT_BINARY_DIR}/ktraceConfigVersion.cmake"
    DESTINATION "${KTRACE_CMAKE_DIR}")

# Relative to the file itself, so that an installed tree can be moved.
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE library_dir)
file(RELATIVE_PATH KTRACE_PC_PREFIX "${library_dir}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file(cmake/ktrace.pc.in ktrace.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/ktrace.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(FILES tests/data/h200/gemm.ktrace DESTINATION "${CMAKE_INSTALL_DATADIR}/ktrace" RENAME demo.ktrace OPTIONAL)

# Completion and manual pages are made by the command itself and of its help texts.
string(TIMESTAMP today "%Y-%m-%d" UTC) # SOURCE_DATE_EPOCH, where that is set
find_program(KTRACE_AWK NAMES mawk gawk awk)
set(made_dir "${PROJECT_BINARY_DIR}/installed-by-command")
set(man_script "${PROJECT_SOURCE_DIR}/cmake/man_page.awk")
file(MAKE_DIRECTORY "${made_dir}")
set(completions)
foreach(shell bash zsh fish)
    add_custom_command(OUTPUT "${made_dir}/ktrace.${shell}"
        COMMAND ktrace_command completion ${shell} > "${made_dir}/ktrace.${shell}"
        DEPENDS ktrace_command COMMENT "Completion for ${shell}")
    list(APPEND completions "${made_dir}/ktrace.${shell}")
endforeach()
install(FILES "${made_dir}/ktrace.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME ktrace)
install(FILES "${made_dir}/ktrace.zsh" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" RENAME _ktrace)
install(FILES "${made_dir}/ktrace.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
add_custom_target(ktrace_completions ALL DEPENDS ${completions})

# One page for the command, and one for each of its commands, which are the sources cmd_NAME.c.
set(KTRACE_MAN_PAGES)
set(commands ${KTRACE_COMMAND_SOURCES})
list(FILTER commands INCLUDE REGEX "/cmd_[a-z]+\\.c$")
list(TRANSFORM commands REPLACE ".*/cmd_([a-z]+)\\.c$" "\\1")
list(JOIN commands " " other_commands)
foreach(command "" ${commands})
    string(REGEX REPLACE "(.+)" "-\\1" suffix "${command}")
    set(page "${made_dir}/ktrace${suffix}.1")
    add_custom_command(OUTPUT "${page}"
        COMMAND ktrace_command ${command} --help > "${page}.txt"
        COMMAND "${KTRACE_AWK}" -v "version=${PROJECT_VERSION}" -v "date=${today}" -v "others=${other_commands}"
            -f "${man_script}" "${page}.txt" > "${page}"
        DEPENDS ktrace_command "${man_script}" COMMENT "Manual page ktrace${suffix}(1)")
    list(APPEND KTRACE_MAN_PAGES "${page}")
endforeach()
if(KTRACE_AWK)
    add_custom_target(ktrace_man_pages ALL DEPENDS ${KTRACE_MAN_PAGES})
    install(FILES ${KTRACE_MAN_PAGES} DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
else()
    message(STATUS "no awk: manual pages are not made")
endif()

# The documentation keeps the shape of the source tree, so that its links lead somewhere; the headers are a link.
install(FILES README.md ARCHITECTURE.md CONTRIBUTING.md LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES sim/README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/sim")
install(DIRECTORY docs bench DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.md" PATTERN "*.png")
install(DIRECTORY examples DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    FILES_MATCHING PATTERN "*.md" PATTERN "*.c" PATTERN "*.h" PATTERN "*.cu" PATTERN "*.hip" PATTERN "*.cl" PATTERN "*.cuh"
    PATTERN "*.py" PATTERN "*.sh" PATTERN "*.yml" PATTERN "Makefile" PATTERN "CMakeLists.txt")
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_DOCDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE doc_dir)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE include_dir)
file(RELATIVE_PATH include_from_doc "${doc_dir}" "${include_dir}")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/installed-docs")
file(CREATE_LINK "${include_from_doc}" "${PROJECT_BINARY_DIR}/installed-docs/include" SYMBOLIC)
install(FILES "${PROJECT_BINARY_DIR}/installed-docs/include" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
