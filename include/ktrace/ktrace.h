/* ktrace/ktrace.h - the host library: capture what annotated kernels record, look at it, export it.
 *
 *     struct ktrace_capture *capture;
 *     struct ktrace_trace *trace;
 *     if (ktrace_capture_begin(&capture, NULL) < 0) return fail(ktrace_last_error());
 *     launch_kernels();
 *     if (ktrace_capture_end(&trace, capture) < 0) return fail(ktrace_last_error());
 *     ktrace_trace_export(trace, "perfetto", "gemm_ktrace.pftrace.gz");
 *     ktrace_trace_destroy(trace);
 *
 * Conventions, for every function unless it says otherwise:
 *   - returns 0, or a negative enum ktrace_status; ktrace_last_error() then holds a sentence for the calling thread;
 *   - out-parameters come first and are written only on success;
 *   - strings that are returned belong to the object they came from and live as long as it does;
 *   - the library never prints, exits or aborts, but that what the environment asked for (KTRACE_ENABLE, KTRACE_WATCH) speaks on
 *     stderr where there is no log;
 *   - a trace is immutable: any number of threads may read it. Functions on one capture may be called from any thread and
 *     are serialized inside.
 */
#ifndef KTRACE_KTRACE_H
#define KTRACE_KTRACE_H

#include "record.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KTRACE_VERSION_MAJOR 0
#define KTRACE_VERSION_MINOR 1
#define KTRACE_VERSION_PATCH 0
#define KTRACE_VERSION_STRING "0.1.0"

#if defined(KTRACE_BUILDING_LIBRARY)
#define KTRACE_API __attribute__((visibility("default")))
#else
#define KTRACE_API
#endif

/* Values are pinned: they are part of the ABI. */
enum ktrace_status {
    KTRACE_OK = 0,
    KTRACE_ERROR_ARGUMENT = -1,     /* a call that can never be right */
    KTRACE_ERROR_MEMORY = -2,       /* host memory ran out */
    KTRACE_ERROR_NO_DEVICE = -3,    /* no driver, or no device, or no context that could be used */
    KTRACE_ERROR_DEVICE = -4,       /* the driver refused a call; the sentence carries its words */
    KTRACE_ERROR_STATE = -5,        /* not now: a capture is open already, or a stream is being captured */
    KTRACE_ERROR_OVERFLOW = -6,     /* waves or events did not fit; the sentence names the size that would hold them */
    KTRACE_ERROR_FORMAT = -7,       /* a file or a buffer is not what it should be */
    KTRACE_ERROR_VERSION = -8,      /* written by a newer ktrace, or a module compiled with another one */
    KTRACE_ERROR_IO = -9,           /* the operating system refused; the sentence carries its words */
    KTRACE_ERROR_UNSUPPORTED = -10, /* known, but not available in this build or on this device */
    KTRACE_ERROR_NOT_FOUND = -11,   /* no such exporter, module, index */
    KTRACE_ERROR_COMPILE = -12      /* a compiler refused a program; the sentence carries its first error */
};

/* The calling thread's last error, one sentence without a newline; "" if there was none. Valid until its next call. */
KTRACE_API const char *ktrace_last_error(void);
/* The name of a status, such as "overflow"; never NULL. */
KTRACE_API const char *ktrace_status_name(int status);
/* Of the library that is loaded: "0.1.0". KTRACE_VERSION_STRING is the header's. */
KTRACE_API const char *ktrace_version(void);

/* What goes on without being asked for, one sentence without a newline at a time: a capture that recorded nothing and why, what
 * was exported at exit. By default nobody is told, but of process-wide collection stderr. `log` is called from any thread of
 * the library's callers, without locks held, may call this library (sentences that come of that are dropped) and leaves
 * ktrace_last_error as it was. NULL: as by default; a call that another thread has begun may still be running. */
KTRACE_API void ktrace_set_log(void (*log)(void *context, const char *sentence), void *context);

/* ---- Captures -------------------------------------------------------------------------------------------------- */

/* What records, from ktrace_capture_begin to ktrace_capture_end or ktrace_capture_destroy; and what was recorded, which never
 * changes and lives until ktrace_trace_destroy. */
struct ktrace_capture;
struct ktrace_trace;

/* What to record. Start from KTRACE_CAPTURE_OPTIONS_INIT. Zero, NULL and "" mean what the environment's variable says, which is
 * named in brackets, and without one the default. Strings and the filter are copied. docs/settings.md */
struct ktrace_capture_options {
    size_t struct_size; /* sizeof(struct ktrace_capture_options) */
    /* Of the trace; default "ktrace". */
    const char *name;
    /* Device memory for waves [KTRACE_BUFFER_BYTES]; default 64 MiB. */
    uint64_t buffer_bytes;
    /* Slots of lane 0's ring, rounded up to a power of two [KTRACE_EVENTS_PER_WAVE]; default 512. A payload takes a slot of
     * its own. */
    uint32_t events_per_wave;
    /* The same for each lane that records while lane 0 is not active [KTRACE_EVENTS_PER_LANE]; default 16. NVIDIA only: on
     * AMD a wave records as one. */
    uint32_t events_per_lane;
    /* Positive: a ring that wraps keeps its newest events. Negative: reading it is an error [KTRACE_KEEP_LAST], which is the
     * default. */
    int keep_last;
    /* NULL: `blocks` decides. */
    const struct ktrace_filter *filter;
    /* "cuda" or "hip" [KTRACE_BACKEND]; default that of the annotated modules which are known, or else (none, or of both) the
     * first that has a device. "hip" without an AMD device is the simulator: ktrace_hip_library. */
    const char *backend;
    /* A filter as text, see ktrace_filter_parse [KTRACE_BLOCKS]; default "all". */
    const char *blocks;
    /* Where exports of the capture go. It must exist [KTRACE_DUMP_DIR]; default the current one at that time. */
    const char *directory;
    /* "active": those in use; "all"; or numbers such as "0,2-3" [KTRACE_DEVICES]; default "active". */
    const char *devices;
    /* Not 0: kernels still record after ktrace_capture_stop. */
    int stay_armed;
};
#define KTRACE_CAPTURE_OPTIONS_INIT \
    { \
        sizeof(struct ktrace_capture_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }
/* A filter that every wave passes. */
#define KTRACE_FILTER_INIT \
    { \
        {0, 0, 0}, {0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu}, 0, 0xFFFFFFFFu, 1, 0xFFFFFFFFu, 0xFFFFFFFFu, 0 \
    }

/* A filter from text: terms with blanks or ';' between them, all of which a wave must meet, each at most once:
 *     x,y,z        coordinates of the workgroup, each "*" (any), "3", "2-5", "2-" (from 2 on) or "-5" (up to 5); of fewer
 *                  than three the rest is "*"
 *     sm:N         the SM's number, or a range as above; NVIDIA only
 *     xcc:N        the same for the XCC (XCD); AMD only
 *     every:N      workgroups whose linear index is a multiple of N
 *     waves:LIST   waves of a workgroup: numbers and ranges with commas between them, "0,2-3". Waves are told apart up to 62:
 *                  63 stands for it and all that follow
 *     all          every wave; stands alone. So does "".
 * KTRACE_ERROR_ARGUMENT: the sentence says what is malformed, where, and what is allowed. The result no longer says whether it
 * was "sm" or "xcc", which only the option `blocks` and KTRACE_BLOCKS check against the device. */
KTRACE_API int ktrace_filter_parse(struct ktrace_filter *out, const char *text);
/* The text of a filter on a device of `arch` (enum ktrace_arch): what ktrace_filter_parse makes the same filter of. The string is
 * the caller's: free() it. KTRACE_ERROR_ARGUMENT: no wave could pass. */
KTRACE_API int ktrace_filter_format(char **out, const struct ktrace_filter *filter, uint32_t arch);

/* Arm every known module on the devices that `options` choose, by default those that are in use and the current one: kernels
 * launched on them from now on record. Allocates a buffer on each, twice, so that waves record while the host reads, and waits
 * for them. `options` may be NULL. One capture is open at a time (KTRACE_ERROR_STATE). What was armed before, process-wide
 * collection or an earlier capture with `stay_armed`, is read and makes room: the first goes on after ktrace_capture_stop, the
 * second has ended. The capture is the caller's until ktrace_capture_end or ktrace_capture_destroy. */
KTRACE_API int ktrace_capture_begin(struct ktrace_capture **out, const struct ktrace_capture_options *options);
/* Any thread may call these, and launch kernels meanwhile. All but peek wait for the devices and for each other; peek waits
 * for neither. A wave that starts while one of them runs is in exactly one trace, this or the next, or forgotten by exactly one
 * clear; its launch may be in both. (On an NVIDIA driver without a compiler counters are exchanged by the host, and then it may
 * be lost: do not launch beside these.) Do not unload an annotated library meanwhile.
 * While a stream is captured into a graph each but peek returns KTRACE_ERROR_STATE and changes nothing; if that stream was
 * made as non-blocking CUDA may call the graph invalid. After a fork captures are the parent's. */

/* Wait for the devices, then forget what was recorded, and what the capture shows. Modules and devices that came since begin
 * are armed too, as in read. */
KTRACE_API int ktrace_capture_clear(struct ktrace_capture *capture);
/* Wait for the devices and hand over what was recorded since begin, clear or the last read: the next trace starts anew. The
 * trace is the caller's; it outlives the capture. KTRACE_ERROR_OVERFLOW: what was on the devices is lost, which are clean
 * again, and the sentence names the options that would have held it. A trace without events is no error: ktrace_trace_warning
 * says why. */
KTRACE_API int ktrace_capture_read(struct ktrace_trace **out, struct ktrace_capture *capture);
/* The same without starting anew: looking loses nothing. If nothing was recorded since the last read, the trace is that one's.
 * After ktrace_capture_stop: what was there then, or what was read since; KTRACE_ERROR_NOT_FOUND if that failed. */
KTRACE_API int ktrace_capture_snapshot(struct ktrace_trace **out, struct ktrace_capture *capture);
/* Copy what is there without waiting: kernels may be running or hung. Waves that are still inside are `unfinished`, the
 * ranges they are in are `unclosed`. Nothing is cleared, and a full buffer or a wrapped ring is no error here. */
KTRACE_API int ktrace_capture_peek(struct ktrace_trace **out, struct ktrace_capture *capture);
/* Look once more as ktrace_capture_snapshot does, then restore what was before: modules are dormant, or record for process-wide
 * collection. The capture keeps what it shows. With the option `stay_armed` they record for this capture until it is destroyed
 * or another one begins: ktrace_capture_read then gives what replays of a graph recorded since. Whatever is returned, the
 * capture is not open any more, except for KTRACE_ERROR_STATE. A capture that is empty tells the log why. */
KTRACE_API int ktrace_capture_stop(struct ktrace_capture *capture);
/* Read, stop and destroy in one. `out` may be NULL: the records are dropped. Of a capture that was stopped: what it shows
 * (KTRACE_ERROR_NOT_FOUND: nothing, as its last read failed). The capture is gone whatever is returned, except for KTRACE_ERROR_STATE while a graph is captured: then it is still open. */
KTRACE_API int ktrace_capture_end(struct ktrace_trace **out, struct ktrace_capture *capture);
/* End without reading, under the same condition. NULL is allowed. */
KTRACE_API void ktrace_capture_destroy(struct ktrace_capture *capture);
/* 1 while a capture is open in this process or process-wide collection is on: what a host asks to choose between two instances
 * of a kernel. */
KTRACE_API int ktrace_active(void);

/* Short forms of a snapshot and a call on its trace: summary, launches and exports of one capture agree as long as nothing new is
 * recorded. Where there are no events `*out` or `*path` is NULL and `*count` 0, which is no error. What they return is the
 * caller's: free() it, ktrace_paths_free of several paths. Files go to the option `directory`. */
KTRACE_API int ktrace_capture_summary_text(char **out, struct ktrace_capture *capture);
KTRACE_API int ktrace_capture_summary_json(char **out, struct ktrace_capture *capture);
KTRACE_API int ktrace_capture_launches_json(char **out, struct ktrace_capture *capture);
KTRACE_API int ktrace_capture_export(char **path, struct ktrace_capture *capture);
KTRACE_API int ktrace_capture_export_launches(char ***paths, uint64_t *count, struct ktrace_capture *capture,
                                              const char *const *names, uint64_t name_count);

/* ---- Process-wide collection ------------------------------------------------------------------------------------ */

/* Outside of captures, with KTRACE_ENABLE=1 in the environment: modules are armed as soon as they are known, on the devices of
 * KTRACE_DEVICES (default: those in use and the current one), with the environment's other settings. While a capture is open the
 * collection rests. What the program has not collected when it exits is exported to KTRACE_DUMP_DIR under the program's name.
 * Problems, and what was exported, are told the log callback, or stderr where there is none.
 * A program that is linked by hipcc has not registered its last translation unit yet when its constructors run. So that it records where
 * the environment says so, and only there, its main begins with
 *
 *     if (ktrace_active())
 *         ktrace_enable(NULL);
 */

/* The same from now on, whatever the environment says. `options` may be NULL, and then it may be on already, by the
 * environment. KTRACE_ERROR_STATE: it is on otherwise, or a capture is open. */
KTRACE_API int ktrace_enable(const struct ktrace_capture_options *options);
/* Ends it and forgets what was not collected. Nothing happens where it is off. KTRACE_ERROR_STATE: a graph is captured, or a
 * capture is open. */
KTRACE_API int ktrace_disable(void);

/* Each reads the devices and starts anew; all answer with the same snapshot until another traced launch or replay was recorded.
 * Inside a capture they are KTRACE_ERROR_STATE: use its own calls. Where there are no events the answer is NULL. */
/* As text: free() it. */
KTRACE_API int ktrace_summary(char **out);
/* Writes "<directory>/<name>_ktrace.pftrace.gz", or with a numeric suffix where that exists. `name` NULL: "kernel"; `directory`
 * NULL: that of the settings. `*path` is the caller's: free() it. */
KTRACE_API int ktrace_collect(char **path, const char *name, const char *directory);
/* The snapshot itself: ktrace_trace_destroy it. NULL only where the collection is off; one without events says why. */
KTRACE_API int ktrace_collect_trace(struct ktrace_trace **out);

/* ---- Modules --------------------------------------------------------------------------------------------------- */

/* A module loaded through the driver API (cuModuleLoad*, NVRTC): make it known, after loading and before launching.
 * `module` is a CUmodule of the current context. Inside a capture it is armed at once. Modules that nvcc links into a
 * program or a shared library make themselves known. KTRACE_ERROR_NOT_FOUND: it has no annotated kernel, or was compiled
 * without KTRACE_ENABLE. */
KTRACE_API int ktrace_attach_cuda_module(void *module);
/* Before cuModuleUnload. What the module recorded can still be read, but for one compiled with KTRACE_SITES_IN_GLOBAL: its
 * descriptors go with it, so read first. */
KTRACE_API int ktrace_detach_cuda_module(void *module);

/* The same for a hipModule_t (hipModuleLoad*, hipRTC) of the library that ktrace_hip_library names. */
KTRACE_API int ktrace_attach_hip_module(void *module);
KTRACE_API int ktrace_detach_hip_module(void *module);

/* Which HIP runtime the backend "hip" uses in this process: that of the environment's KTRACE_HIP_LIBRARY; else the libamdhip64 or
 * libktrace_sim.so that is loaded already; else ROCm's libamdhip64 if it finds a device; else the simulator. A program that
 * finds the hip... functions by dlopen and dlsym in `*path` launches kernels where captures look, with ROCm or without.
 * Chosen once. KTRACE_ERROR_NO_DEVICE: there is none that can be used. KTRACE_ERROR_ARGUMENT: the simulator was told something
 * impossible, such as another KTRACE_SIM_CHIP than gfx942 and gfx950. */
KTRACE_API int ktrace_hip_library(const char **path);

/* What device.h's static constructor hands over for each translation unit compiled by nvcc or hipcc. Not for direct use. */
struct ktrace_registration {
    size_t struct_size;
    struct ktrace_registration *next;
    const void *symbol; /* the host's shadow of the control block */
    int (*symbol_address)(void **address,
                          const void *symbol); /* that object's own cudaGetSymbolAddress or hipGetSymbolAddress */
    const char *file;
    uint32_t arch; /* enum ktrace_arch; 0, or a struct_size that ends before: NVIDIA */
};
KTRACE_API void ktrace_register(struct ktrace_registration *registration);
KTRACE_API void ktrace_unregister(struct ktrace_registration *registration);

/* ---- Programs -------------------------------------------------------------------------------------------------- */

/* A kernel's source, compiled at run time by NVRTC or hipRTC in two specializations, with its annotations and without:
 *
 *     struct ktrace_program *program;
 *     void *gemm;
 *     if (ktrace_program_create(&program, source, NULL) < 0) return fail(ktrace_last_error());
 *     if (ktrace_program_kernel(&gemm, program, "gemm<float>") < 0) return fail(ktrace_last_error());
 *     cuLaunchKernel((CUfunction)gemm, ...);      // traced if a capture is open, otherwise untraced
 *
 * The headers of ktrace/device.h are there without an include path. docs/programs.md has more. */
struct ktrace_program;

enum ktrace_program_trace {
    KTRACE_PROGRAM_TRACE_AUTO = 0,   /* traced while ktrace_active() */
    KTRACE_PROGRAM_TRACE_ALWAYS = 1, /* whatever the environment or a capture say */
    KTRACE_PROGRAM_TRACE_NEVER = 2
};

/* A header that is no file: what `#include <name>` and `#include "name"` find by exactly this name. */
struct ktrace_program_header {
    const char *name;
    const char *text;
};

/* Start from KTRACE_PROGRAM_OPTIONS_INIT; zero means the default named at each field. All is copied. */
struct ktrace_program_options {
    size_t struct_size; /* sizeof(struct ktrace_program_options) */
    const char *name;   /* of the source, in messages and traces; NULL: "program.cu" or "program.hip" */

    /* For the compiler, in order, such as "-DTILE=64". Before them it gets options for the device's architecture and for C++17,
     * unless these choose others. */
    const char *const *compiler_options;
    size_t compiler_option_count;
    const struct ktrace_program_header *headers;
    size_t header_count;
    /* In order. A program that has any is not kept in the disk cache. */
    const char *const *include_directories;
    size_t include_directory_count;
    /* Names that ktrace_program_kernel will be asked for: compiled in one go, so that they share device variables. Others
     * are compiled when they are asked for. */
    const char *const *kernels;
    size_t kernel_count;

    const char *backend; /* "cuda", "hip"; NULL or "": as for captures */
    int trace;           /* enum ktrace_program_trace */
    /* Of the disk cache, made where it is missing; "": none; NULL: the environment's KTRACE_CACHE_DIR, or $XDG_CACHE_HOME/ktrace,
     * or ~/.cache/ktrace, and none if KTRACE_CACHE is off (0). */
    const char *cache_directory;
};
#define KTRACE_PROGRAM_OPTIONS_INIT \
    { \
        sizeof(struct ktrace_program_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/* Copies the source; compiles nothing yet and asks no device. `options` may be NULL. KTRACE_ERROR_ARGUMENT: an option that
 * can never be right, such as KTRACE_ENABLE among the compiler's: `trace` says that. */
KTRACE_API int ktrace_program_create(struct ktrace_program **out, const char *source,
                                     const struct ktrace_program_options *options);
/* A CUfunction of the calling thread's current context, or a hipFunction_t of its current device, of the kernel named as in
 * C++: "gemm", "ns::gemm<float, 4>". Compiles, loads and attaches what is not there yet: each specialization at most once for
 * an architecture, and once loaded in a context, whichever threads ask. It stays valid until the program is destroyed, traced or
 * untraced as it was handed out: ask again inside a capture, before the kernel is recorded into a graph.
 * KTRACE_ERROR_COMPILE: the compiler refused it; the sentence has its first error, ktrace_program_log all.
 * KTRACE_ERROR_UNSUPPORTED: there is no compiler, or it does not know this device. KTRACE_ERROR_NO_DEVICE: no device, or no
 * current context. */
KTRACE_API int ktrace_program_kernel(void **function, struct ktrace_program *program, const char *kernel);
/* What the compiler said the last time that the program was compiled, or its result was found in the disk cache; "" if
 * nothing. */
KTRACE_API const char *ktrace_program_log(struct ktrace_program *program);

/* What was spent on a program so far. */
struct ktrace_program_info {
    size_t struct_size;
    uint64_t compilations;  /* of the compiler, failed ones too */
    uint64_t disk_hits;     /* found in the disk cache instead */
    uint64_t disk_writes;   /* put there */
    uint64_t disk_failures; /* could not be put there */
    uint64_t modules;       /* loaded now, in all contexts */
    const char *not_cached; /* why it is not kept in the disk cache; "" if it is, or nothing was compiled yet */
};
/* Set `struct_size` of `*out` before. */
KTRACE_API int ktrace_program_get_info(struct ktrace_program_info *out, struct ktrace_program *program);

/* Detaches and unloads its modules: while their contexts are still there, and no kernel of them runs or is in a graph that will.
 * What they recorded in an open capture can still be read. NULL is allowed. */
KTRACE_API void ktrace_program_destroy(struct ktrace_program *program);

/* ---- Traces ---------------------------------------------------------------------------------------------------- */

#define KTRACE_NO_INDEX 0xFFFFFFFFu

/* A trace as a whole, and what it lacks. The strings are the trace's. */
struct ktrace_trace_info {
    size_t struct_size;
    const char *name;
    const char *device; /* "NVIDIA H200"; of several devices "2 x NVIDIA H200", or all their names */
    uint32_t arch;      /* enum ktrace_arch */
    uint32_t places;    /* SMs of the device; CUs on AMD. Of several devices: all together */
    uint64_t origin_ns; /* device wall clock at the trace's time 0; of several devices that of the first one with
                           readings of the host's clock, onto which all times are put */
    int64_t duration_ps;
    uint64_t launches, waves, events;
    /* What is not in the trace, or not whole. */
    uint64_t waves_dropped;  /* found no region */
    uint64_t waves_filtered; /* turned away by the filter */
    uint64_t waves_unfinished;
    uint64_t slots_lost;       /* slots overwritten in wrapped rings (events and their payloads) */
    uint64_t ranges_unclosed;  /* still open at their wave's last event */
    uint64_t ends_unmatched;   /* pops and stops without a partner: not shown */
    uint64_t slots_corrupt;    /* slots that no site of the module explains */
    uint64_t clocks_ambiguous; /* waves with a gap over 2^32 ticks that the anchors could not resolve */
    double clock_hz;           /* fitted */
    double
        clock_residual_ns; /* largest distance of an anchor from the fit: says nothing of the time between anchors, which
                                  are taken where waves start and end; ktrace_trace_warning speaks of waves too long for that */
    int simulated;         /* not 0: recorded on the simulator, all times are simulated time */
    uint32_t devices;      /* how many were recorded: at least 1 */
    uint32_t processes;    /* that recorded: 1, or more in a trace that ktrace_trace_merge made */
};

/* One device of a trace. Each has its own wall clock; with several, their times are put onto one timeline through readings of the
 * host's clock and the device's, taken together when the capture began, was read, and ended. */
struct ktrace_device_info {
    size_t struct_size;
    const char *name;
    uint32_t ordinal; /* its number in CUDA or HIP */
    uint32_t places;  /* SMs; CUs on AMD */
    uint64_t launches, waves, events;
    uint64_t waves_dropped;  /* found no region */
    uint64_t waves_filtered; /* turned away by the filter */
    /* What the host's CLOCK_REALTIME was ahead of the device's wall clock when its first wave started; 0 where that is not
     * known, and on the simulator. */
    int64_t clock_offset_ns;
    /* The device's times are right to within this much, against the host's clock: what happened at once on two devices is shown
     * no further apart than the sum of both. Infinite: the clock was not read together with the host's; in a trace of several
     * devices this one's times then begin with those of the others, and cannot be compared with them. 0: simulated devices
     * have one clock. */
    double clock_uncertainty_ns;
    double clock_residual_ns; /* as in struct ktrace_trace_info, of its places */
    /* Not 0: readings of the host's clock and the device's contradict each other by up to this much. The uncertainty holds what
     * that makes of it. */
    double clock_contradiction_ns;
    uint32_t process;  /* index: ktrace_trace_process */
    const char *label; /* "device 0: NVIDIA H200"; where there are several processes "rank 3: NVIDIA H200 #0" */
    const char *uuid;  /* "f05ffc01-4a82-5c2c-a8a7-fd6b2a5b7b3a", whatever CUDA_VISIBLE_DEVICES says; "" not known */
    const char *pci_bus_id; /* "0000:17:00.0"; "" not known */
};

/* What relates the times of a process to those of the trace's timeline, which is that of the first process with waves. */
enum ktrace_relation {
    KTRACE_RELATION_SELF = 0,   /* it is that process */
    KTRACE_RELATION_DEVICE = 1, /* they recorded one physical device, whose clock is the same for both */
    KTRACE_RELATION_HOST = 2,   /* the clock of the host that both ran on: each device's clock_uncertainty_ns holds */
    KTRACE_RELATION_REALTIME =
        3, /* CLOCK_REALTIME of two hosts, or of hosts that are not known: besides those uncertainties
                                     they are as far apart as these clocks were, which nobody recorded */
    KTRACE_RELATION_PLACED = 4, /* none: it was placed beside the others, as was asked for */
    KTRACE_RELATION_NONE = 5    /* none: it recorded no wave, or no reading of the host's clock */
};

/* A process that recorded. What is not known, as of traces that an older ktrace saved, is "" and 0. */
struct ktrace_process_info {
    size_t struct_size;
    const char
        *label; /* what tells it from the others, never "": KTRACE_LABEL of its environment or what merging called it,
                            "rank 3" of what a launcher set, or else "pid 4711" */
    const char *host;    /* its name */
    const char *boot;    /* identity of the kernel that it ran under: /proc/sys/kernel/random/boot_id */
    const char *program; /* path of its executable */
    const char *version; /* of libktrace in it */
    const char *filter;  /* of its first capture, as KTRACE_BLOCKS; "all" */
    uint32_t pid;
    uint32_t devices;
    uint64_t launches, waves, events, waves_dropped, waves_filtered;
    int relation; /* enum ktrace_relation */
    int64_t
        shift_ns; /* by which its times were moved besides: an offset that was given, or its clock's that somebody set */
};

/* One launch of a kernel, or one replay of a node of a graph. The string is the trace's. */
struct ktrace_launch_info {
    size_t struct_size;
    const char *kernel;
    uint64_t grid_id;    /* AMD: the dispatch id, unique in its queue */
    uint32_t occurrence; /* 0, 1, ... for replays that share a grid id */
    uint32_t grid[3], block[3];
    int64_t begin_ps, end_ps; /* first wave's start to last wave's end, from the trace's time 0 */
    uint64_t waves_launched, waves, events, slots_lost;
    uint64_t queue;  /* AMD: address of the HSA queue; 0 otherwise */
    uint32_t device; /* index: ktrace_trace_device */
};

/* Statistics over every closed range of one phase: equal kernel, kind and name. Marks have a count only. Durations in
 * nanoseconds. Percentiles by nearest rank. */
struct ktrace_phase_info {
    size_t struct_size;
    const char *kernel;
    const char *name;
    uint32_t kind;  /* KTRACE_KIND_MARK, KTRACE_KIND_PUSH or KTRACE_KIND_START */
    uint64_t count; /* closed ranges, or marks */
    uint64_t unclosed;
    double total_ns, mean_ns, min_ns, p50_ns, p90_ns, p99_ns, max_ns;
};

/* One wave: a warp on NVIDIA, a wavefront on AMD. */
struct ktrace_wave_info {
    size_t struct_size;
    uint32_t launch; /* index */
    uint32_t workgroup[3];
    uint32_t wave;  /* within the workgroup */
    uint32_t place; /* SM id; AMD: XCC_ID << 16 | bits 14:8 of HW_ID (SE 14:13, SH 12, CU 11:8) */
    uint32_t lane_count;
    int64_t begin_ps, end_ps;
    uint32_t events;
    uint64_t slots_lost;
    int unfinished;
    uint32_t device; /* index: ktrace_trace_device */
};

/* One event of a wave, in time order. The strings are the trace's. */
struct ktrace_event_info {
    size_t struct_size;
    const char *name; /* "" for a pop; a stop's own name, which is that of its start where it is matched */
    const char *file; /* of the annotation; "" for the end of a scope, whose line is 0 */
    uint32_t line;
    uint32_t kind; /* enum ktrace_kind */
    uint32_t lane; /* that recorded it */
    uint32_t
        partner; /* index of the other end within the wave; KTRACE_NO_INDEX: a mark, unclosed, unmatched, or a pop of
                         lanes that left a range before others did */
    uint32_t payload_type; /* enum ktrace_payload_type */
    uint64_t payload;      /* bits, extended to 64 */
    int64_t time_ps;       /* from the trace's time 0 */
    uint64_t clock_ticks;  /* the SM's own clock, AMD: the 100 MHz wall clock: differences within a wave are exact */
};

/* The same for reading many at once. Fields are only ever added, at the end. */
struct ktrace_event_record {
    int64_t time_ps;
    uint64_t clock_ticks;
    uint64_t payload;
    const char *name, *file; /* of one phase or file mostly, but not always, the same pointer */
    uint64_t wave;           /* index */
    uint32_t launch;         /* index */
    uint32_t line, kind, lane;
    uint32_t partner; /* index within the wave, or KTRACE_NO_INDEX */
    uint32_t payload_type;
};

KTRACE_API void ktrace_trace_destroy(struct ktrace_trace *trace); /* NULL is allowed */
/* Set `struct_size` of `*out` before each of these. Out of range: KTRACE_ERROR_NOT_FOUND. */
KTRACE_API int ktrace_trace_get_info(struct ktrace_trace_info *out, const struct ktrace_trace *trace);
KTRACE_API int ktrace_trace_device(struct ktrace_device_info *out, const struct ktrace_trace *trace, uint64_t index);
KTRACE_API int ktrace_trace_process(struct ktrace_process_info *out, const struct ktrace_trace *trace, uint64_t index);
KTRACE_API int ktrace_trace_launch(struct ktrace_launch_info *out, const struct ktrace_trace *trace, uint64_t index);
KTRACE_API int ktrace_trace_phase(struct ktrace_phase_info *out, const struct ktrace_trace *trace, uint64_t index);
KTRACE_API int ktrace_trace_wave(struct ktrace_wave_info *out, const struct ktrace_trace *trace, uint64_t index);
KTRACE_API int ktrace_trace_event(struct ktrace_event_info *out, const struct ktrace_trace *trace, uint64_t wave,
                                  uint32_t index);
/* `count` events of all waves together, wave by wave as their indexes are, from event `first` of 0 .. info.events - 1 on. `records`
 * has room for them, each of `record_bytes`, which is sizeof(struct ktrace_event_record): fields that the library does not know
 * are zeroed. KTRACE_ERROR_NOT_FOUND: there are fewer; then nothing is written. */
KTRACE_API int ktrace_trace_event_records(struct ktrace_event_record *records, size_t record_bytes,
                                          const struct ktrace_trace *trace, uint64_t first, uint64_t count);
KTRACE_API uint64_t ktrace_trace_phase_count(const struct ktrace_trace *trace);
/* The phases of one launch alone: those that it has, in the order of the trace's. Reckoned when a launch is first asked for,
 * which can run out of memory. */
KTRACE_API int ktrace_trace_launch_phase_count(uint64_t *out, const struct ktrace_trace *trace, uint64_t launch);
KTRACE_API int ktrace_trace_launch_phase(struct ktrace_phase_info *out, const struct ktrace_trace *trace,
                                         uint64_t launch, uint64_t index);
/* Why a trace is empty or not whole, as one sentence; "" when all is well. */
KTRACE_API const char *ktrace_trace_warning(const struct ktrace_trace *trace);

/* The summary as text for a terminal or as JSON, where a phase's "kind" is "range", "token" or "mark". The string is the
 * caller's: free() it. */
KTRACE_API int ktrace_trace_summary_text(char **out, const struct ktrace_trace *trace);
KTRACE_API int ktrace_trace_summary_json(char **out, const struct ktrace_trace *trace);
/* Every launch in the order of first timestamps, with its place in the trace, its waves, events and losses, and its own phases:
 * tables, or JSON with "info" and "warning" as above and "launches", each with a "launch_id" (its index), the fields of struct
 * ktrace_launch_info, and "phases". The string is the caller's: free() it. */
KTRACE_API int ktrace_trace_launches_text(char **out, const struct ktrace_trace *trace);
KTRACE_API int ktrace_trace_launches_json(char **out, const struct ktrace_trace *trace);

/* ---- Merging --------------------------------------------------------------------------------------------------- */

enum ktrace_merge_align {
    KTRACE_ALIGN_HOST =
        0, /* by clocks: of a device that both recorded, else of the host. What none relates is refused */
    KTRACE_ALIGN_START = 1 /* each trace's first wave at the begin of the timeline, whatever clocks say */
};

/* Start from KTRACE_MERGE_OPTIONS_INIT. */
struct ktrace_merge_options {
    size_t struct_size; /* sizeof(struct ktrace_merge_options) */
    const char *name;   /* of the trace; NULL or "": that of the first */
    /* What the traces' processes are called, one a trace in their order. NULL, or a NULL or "" among them: as they say themselves.
     * A trace of several processes cannot be given one. */
    const char *const *labels;
    uint64_t label_count;
    int align; /* enum ktrace_merge_align */
    /* By how much each trace's times are moved besides, one a trace; NULL: none is. */
    const int64_t *offsets_ns;
    uint64_t offset_count;
};
#define KTRACE_MERGE_OPTIONS_INIT \
    { \
        sizeof(struct ktrace_merge_options), 0, 0, 0, 0, 0, 0 \
    }

/* One trace of several: of the ranks of a program, of processes on one device or many, of consecutive reads. `options` may be
 * NULL. `*out` is a trace as any other, to be summarized, exported, saved and merged again; it shares nothing with `traces`, which
 * stay as they are. Takes as much memory again as they have.
 *   - Each process keeps its devices and its launches, whatever ids they share with others'. Traces of one process become one:
 *     a launch whose waves two reads shared out is one launch.
 *   - What was dropped, filtered, unclosed is added up, and kept for each device; warnings are those of all.
 *   - Times: what two processes recorded of one physical device is on that device's clock, as exact as if one had recorded it. Else
 *     the host's clock relates them, to within the sum of both devices' clock_uncertainty_ns; that somebody set it meanwhile is made
 *     good. Traces of several hosts are related by CLOCK_REALTIME, which is as good as the hosts' synchronization: the trace's
 *     warning says so, and ktrace_trace_process says what holds for which process.
 * KTRACE_ERROR_ARGUMENT: there is no trace, or one is NULL; a read is in two of them (nothing is counted twice); CUDA and HIP, or
 * simulated and real time cannot be one trace; nothing relates two of them, and KTRACE_ALIGN_START was not asked for; an option
 * that cannot be. The sentence names the traces by their number, from 1 on. */
KTRACE_API int ktrace_trace_merge(struct ktrace_trace **out, const struct ktrace_trace *const *traces, uint64_t count,
                                  const struct ktrace_merge_options *options);

/* ---- Files ----------------------------------------------------------------------------------------------------- */

/* Write the trace with the named exporter to `path`, replacing it: "perfetto"; "chrome", JSON of trace events; "csv", ranges and
 * marks; "json", as ktrace_trace_summary_json; or "html", the page of `ktrace report`. docs/command.md has more of the formats.
 * KTRACE_ERROR_NOT_FOUND: there is no such exporter. KTRACE_ERROR_IO: the file; the error says which and why. */
KTRACE_API int ktrace_trace_export(const struct ktrace_trace *trace, const char *exporter, const char *path);
/* Into memory: `*data` is the caller's, free() it. */
KTRACE_API int ktrace_trace_export_memory(void **data, size_t *bytes, const struct ktrace_trace *trace,
                                          const char *exporter);
/* Write "<directory>/<name>_ktrace.pftrace.gz", or with a numeric suffix where that exists: never overwrites. `*path` is
 * the caller's: free() it. `directory` NULL: the current one. */
KTRACE_API int ktrace_trace_export_new(char **path, const struct ktrace_trace *trace, const char *directory);
/* One file as above for each launch that has events, with that launch alone, in the order of first timestamps.
 * `names`: one for each of these launches in that order, from which the files are named; equal ones get numbers. NULL: the
 * names are "<kernel>_launch_<index>". Characters that a file name had better not have become '_'. All times are from the
 * trace's time 0, so that files of one trace can be laid over each other.
 * `*paths` has `*count` paths and a NULL behind them; hand it to ktrace_paths_free. Without events there are none, and that is
 * no error. KTRACE_ERROR_ARGUMENT: there are more or fewer names than such launches (the sentence says how many), or one is
 * empty, a path, or over 200 bytes. On failure the files that had been written are removed. */
KTRACE_API int ktrace_trace_export_launches(char ***paths, uint64_t *count, const struct ktrace_trace *trace,
                                            const char *directory, const char *const *names, uint64_t name_count);
KTRACE_API void ktrace_paths_free(char **paths, uint64_t count); /* NULL is allowed */
/* The snapshot as a .ktrace file: everything needed to make the trace again, replacing what is at `path`; and a trace of such a
 * file, or of its bytes, which may go afterwards. The trace is the caller's: ktrace_trace_destroy it. KTRACE_ERROR_IO: the file
 * cannot be read or written. KTRACE_ERROR_FORMAT: it is no trace, or damaged; the sentence says where. KTRACE_ERROR_VERSION: a newer
 * ktrace wrote it. docs/format.md. */
KTRACE_API int ktrace_trace_save(const struct ktrace_trace *trace, const char *path);
KTRACE_API int ktrace_trace_load(struct ktrace_trace **out, const char *path);
KTRACE_API int ktrace_trace_load_memory(struct ktrace_trace **out, const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
