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

# The documentation keeps the shape of the source tree, so that its links lead somewhere; the headers are a link.
install(FILES README.md ARCHITECTURE.md CONTRIBUTING.md LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES sim/README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/sim")
install(DIRECTORY docs bench DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.md")
install(DIRECTORY examples DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    FILES_MATCHING PATTERN "*.md" PATTERN "*.c" PATTERN "*.h" PATTERN "*.cu" PATTERN "*.hip" PATTERN "*.cl" PATTERN "*.cuh")
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_DOCDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE doc_dir)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE include_dir)
file(RELATIVE_PATH include_from_doc "${doc_dir}" "${include_dir}")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/installed-docs")
file(CREATE_LINK "${include_from_doc}" "${PROJECT_BINARY_DIR}/installed-docs/include" SYMBOLIC)
install(FILES "${PROJECT_BINARY_DIR}/installed-docs/include" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
