/* trace_file.h - .ktrace files: a snapshot on disk.
 *
 * docs/format.md is the normative description; the numbers are here. trace_file_write.c makes files,
 * trace_file_index.c and trace_file_read.c read them from bytes that nobody vouches for, trace_file_processes.c does both of who
 * recorded. A file is
 *
 *   header   40 bytes: magic, version, minimum reader, features, length
 *   section  24 bytes: type, flags, length, checksums; then the payload, zero-padded to 8 bytes; ...
 *
 * Every byte is covered by a checksum or must be zero. To add something, add a section type: an optional one when old
 * readers may go without it, a required one or a feature bit when they may not. The layout of an existing section never
 * changes.
 */
#ifndef KT_TRACE_FILE_H
#define KT_TRACE_FILE_H

#include "snapshot.h"

#define KT_FILE_MAGIC "\x89KTR\r\n\x1a\n"
#define KT_FILE_MAGIC_BYTES 8u
#define KT_FILE_VERSION 1u        /* what this library writes */
#define KT_FILE_MINIMUM_READER 1u /* the oldest version whose readers understand what this library writes */
#define KT_FILE_FEATURES (KT_FILE_AMDGCN | KT_FILE_SEVERAL | KT_FILE_MERGED) /* bits this library understands */
#define KT_FILE_HEADER_BYTES 40u
#define KT_FILE_SECTION_HEADER_BYTES 24u
#define KT_FILE_ALIGNMENT 8u

#define KT_FILE_SECTION_TYPE(a, b, c, d) \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
enum kt_file_section_type {
    KT_FILE_INFO = KT_FILE_SECTION_TYPE('I', 'N', 'F', 'O'),
    KT_FILE_ANCHORS = KT_FILE_SECTION_TYPE('A', 'N', 'C', 'H'),
    KT_FILE_MODULES = KT_FILE_SECTION_TYPE('M', 'O', 'D', 'S'),
    KT_FILE_WAVES = KT_FILE_SECTION_TYPE('W', 'A', 'V', 'E'),
    KT_FILE_RINGS = KT_FILE_SECTION_TYPE('R', 'I', 'N', 'G'),
    KT_FILE_SLOTS = KT_FILE_SECTION_TYPE('S', 'L', 'O', 'T'),
    KT_FILE_ORDINAL = KT_FILE_SECTION_TYPE('O', 'R', 'D', 'N'),   /* of one device whose ordinal is not 0; optional */
    KT_FILE_DEVICES = KT_FILE_SECTION_TYPE('D', 'E', 'V', 'S'),   /* of several devices */
    KT_FILE_TAKEN = KT_FILE_SECTION_TYPE('T', 'A', 'K', 'N'),     /* when a peek was taken; optional */
    KT_FILE_PROCESSES = KT_FILE_SECTION_TYPE('P', 'R', 'O', 'C'), /* of several processes */
    KT_FILE_ORIGIN = KT_FILE_SECTION_TYPE('O', 'R', 'I', 'G')     /* who recorded; optional where there is no PROC */
};
enum kt_file_features {
    KT_FILE_AMDGCN = 1, /* rings with overhangs, and sites that are counted: exactly where the architecture is amdgcn */
    KT_FILE_SEVERAL = 2, /* devices: what INFO and ANCH say of one is in DEVS, exactly where there are several */
    KT_FILE_MERGED = 4   /* processes: what INFO says of one is in PROC, exactly where there are several */
};
enum kt_file_section_flags {
    KT_FILE_REQUIRED = 1 /* a reader that does not know the type must refuse the file */
};

/* The fewest bytes that one record takes. */
#define KT_FILE_ANCHOR_BYTES 24u
#define KT_FILE_MODULE_BYTES 8u
#define KT_FILE_SITE_BYTES 24u
#define KT_FILE_RING_BYTES 12u
#define KT_FILE_DEVICE_BYTES 52u
#define KT_FILE_PROCESS_BYTES 40u
#define KT_FILE_READS_BYTES 24u
#define KT_FILE_READING_BYTES 24u

struct kt_file_section {
    uint32_t type, flags;
    uint64_t payload_offset, payload_bytes; /* from the start of the file */
};

/* What the headers say. */
struct kt_file_index {
    uint16_t version, minimum_reader;
    uint32_t section_count;
    uint64_t features;
    uint64_t file_bytes;
    struct kt_file_section *sections; /* section_count of them; owned */
};

/* Write `snapshot` to `path`, replacing a file there in one step: other processes see the old file or the new one. One
 * that kt_check_snapshot refuses is not written: it could not be loaded. */
int kt_snapshot_save(const struct kt_snapshot *snapshot, const char *path);
/* The same bytes in memory: `*data` is the caller's, free() it. */
int kt_snapshot_save_memory(void **data, size_t *bytes, const struct kt_snapshot *snapshot);
/* Nothing in `data` is trusted. Memory used is proportional to `bytes`. */
int kt_snapshot_load(struct kt_snapshot **out, const void *data, size_t bytes);

/* A whole .ktrace file, or a pipe that delivers one, in memory: `*data` is the caller's, free() it. What does not begin
 * like a .ktrace file is refused before the rest is read. The sentence of an error names the path. */
int kt_file_read(void **data, size_t *bytes, const char *path);
/* Check all headers and checksums and list the sections, in the order of the file. Free with kt_file_index_free. */
int kt_file_index_read(struct kt_file_index *out, const void *data, size_t bytes);
void kt_file_index_free(struct kt_file_index *index);

/* "MODS", or what can be shown of it. */
void kt_file_type_name(char out[5], uint32_t type);
/* The last error's sentence again, with the path in front. */
int kt_file_fail(int status, const char *path);
#define KT_FILE_DAMAGED "the file is damaged: copy it again, or record it again"

#endif
