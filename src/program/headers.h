/* headers.h - the device headers inside the library, so that programs include them without an include path. */
#ifndef KT_PROGRAM_HEADERS_H
#define KT_PROGRAM_HEADERS_H

/* The files as they are, by their names below include/; ends with a pair of NULLs. Made from them by cmake/embed.cmake. */
struct kt_embedded_header {
    const char *name;
    const char *text;
};
extern const struct kt_embedded_header kt_embedded_headers[];

/* What programs include. */
enum { KT_PROGRAM_HEADERS = 2 };
extern const char *const kt_program_header_names[KT_PROGRAM_HEADERS]; /* "ktrace/device.h", "ktrace/record.h" */

int kt_program_header_is_own(const char *name);

/* Its text, with all headers that it includes in their places: NVRTC finds headers in memory only by what is written in the
 * directive, and "macros.h" would be anybody's. The caller's: free() it. */
int kt_program_header(char **out, const char *name);

#endif
