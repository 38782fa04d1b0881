/* hiprtc_clang.h - one run of clang: files in a folder of its own, which is gone afterwards. */
#ifndef SIM_HIPRTC_CLANG_H
#define SIM_HIPRTC_CLANG_H

#include "hiprtc.h"

struct sim_hiprtc_source {
    const char *text, *name;
    char **headers, **include_names;
    size_t header_count;
    char **expressions; /* names as in C++ whose lowered ones are wanted */
    size_t expression_count;
};

struct sim_hiprtc_output {
    char *log; /* NUL-terminated */
    unsigned char *code;
    size_t code_bytes;
};

/* The texts that are part of every program. Made from files by cmake/embed.cmake; ends with a pair of NULLs. */
struct sim_hiprtc_text {
    const char *name;
    const char *text;
};
extern const struct sim_hiprtc_text sim_hiprtc_prelude[];

/* `options` are clang's. Writes `*out` whatever is returned; its members are the caller's, free() them. */
hiprtcResult sim_hiprtc_run_clang(struct sim_hiprtc_output *out, const struct sim_hiprtc_source *source,
                                  const char *const *options, size_t option_count);

#endif
