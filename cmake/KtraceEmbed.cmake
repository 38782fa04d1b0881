# ktrace_embed(output SYMBOL name TYPE struct HEADER file.h BASE folder NAMES file...): a C source, made whenever a file changes,
# that has files' texts as an array `name` of `struct struct {const char *name, *text;}`.
function(ktrace_embed output)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "SYMBOL;TYPE;HEADER;BASE" "NAMES")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAMES)
        message(FATAL_ERROR "ktrace_embed(output SYMBOL name TYPE struct HEADER file.h BASE folder NAMES file...)")
    endif()
    list(JOIN arg_NAMES "|" names)
    list(TRANSFORM arg_NAMES PREPEND "${arg_BASE}/" OUTPUT_VARIABLE files)
    set(script "${PROJECT_SOURCE_DIR}/cmake/embed.cmake")
    add_custom_command(OUTPUT "${output}"
        COMMAND "${CMAKE_COMMAND}" -D "OUTPUT=${output}" -D "HEADER=${arg_HEADER}" -D "TYPE=${arg_TYPE}"
            -D "SYMBOL=${arg_SYMBOL}" -D "BASE=${arg_BASE}" -D "NAMES=${names}" -P "${script}"
        DEPENDS ${files} "${script}" COMMENT "Embedding ${arg_SYMBOL}" VERBATIM)
endfunction()
