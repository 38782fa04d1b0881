/* From bytes that nobody vouches for to the list of a file's sections, every header and checksum looked at; and the bytes from a
 * file or a pipe. */
#include "trace_file.h"

#include "array.h"
#include "error.h"
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAMAGED KT_FILE_DAMAGED

typedef unsigned long long ull; /* for %llu */

/* ---- Headers ----------------------------------------------------------------------------------------------------- */

/* What a file that is not a .ktrace file probably is. */
static int fail_magic(const uint8_t *data, size_t bytes)
{
    if (bytes >= 2 && data[0] == 0x1F && data[1] == 0x8B)
        return kt_fail(KTRACE_ERROR_FORMAT,
                       "this is a gzip file, not a .ktrace file: open a .pftrace.gz at https://ui.perfetto.dev, "
                       "and give ktrace the .ktrace file it was exported from");
    if (bytes >= 4 && memcmp(data + 1, "KTR", 3) == 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "the first 8 bytes of this .ktrace file were changed, as a transfer "
                                            "in text mode does: copy it again in binary mode");
    return kt_fail(KTRACE_ERROR_FORMAT, "this is not a .ktrace file: it does not begin with \\x89KTR");
}

/* `data` needs to hold no more than the header. */
static int read_file_header(struct kt_file_index *out, uint32_t *header_bytes, const void *data, size_t bytes)
{
    if (bytes == 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "the file is empty");
    size_t compared = bytes < KT_FILE_MAGIC_BYTES ? bytes : KT_FILE_MAGIC_BYTES;
    if (memcmp(data, KT_FILE_MAGIC, compared) != 0)
        return fail_magic(data, bytes);
    if (bytes < KT_FILE_HEADER_BYTES)
        return kt_fail(KTRACE_ERROR_FORMAT, "the file ends after %zu bytes, inside its header of %u: " DAMAGED, bytes,
                       KT_FILE_HEADER_BYTES);
    struct kt_reader reader = kt_reader_over(data, bytes);
    kt_read_bytes(&reader, KT_FILE_MAGIC_BYTES);
    struct kt_file_index index = {0};
    index.version = kt_read_u16(&reader);
    index.minimum_reader = kt_read_u16(&reader);
    index.section_count = kt_read_u32(&reader);
    index.features = kt_read_u64(&reader);
    index.file_bytes = kt_read_u64(&reader);
    *header_bytes = kt_read_u32(&reader);
    uint32_t expected = libdeflate_crc32(0, data, reader.at);
    if (kt_read_u32(&reader) != expected)
        return kt_fail(KTRACE_ERROR_FORMAT, "the checksum of the file header (offset 0) does not match: " DAMAGED);
    if (index.minimum_reader > KT_FILE_VERSION)
        return kt_fail(KTRACE_ERROR_VERSION,
                       "the file has version %u of the format and needs a reader of version %u, this is ktrace %s with "
                       "version %u: use a newer ktrace",
                       index.version, index.minimum_reader, KTRACE_VERSION_STRING, KT_FILE_VERSION);
    if (index.features & ~KT_FILE_FEATURES)
        return kt_fail(KTRACE_ERROR_VERSION,
                       "the file needs features 0x%llx of the format that ktrace %s does not know: use a newer ktrace",
                       (ull)(index.features & ~KT_FILE_FEATURES), KTRACE_VERSION_STRING);
    if (*header_bytes < KT_FILE_HEADER_BYTES || *header_bytes % KT_FILE_ALIGNMENT || *header_bytes > index.file_bytes)
        return kt_fail(KTRACE_ERROR_FORMAT, "the file header says it has %u bytes in a file of %llu: " DAMAGED,
                       *header_bytes, (ull)index.file_bytes);
    *out = index;
    return 0;
}

void kt_file_type_name(char out[5], uint32_t type)
{
    for (int i = 0; i < 4; i++) {
        char letter = (char)(type >> 8 * i);
        out[i] = letter > ' ' && letter <= '~' ? letter : '?';
    }
    out[4] = 0;
}

static bool known_type(uint32_t type)
{
    return type == KT_FILE_INFO || type == KT_FILE_ANCHORS || type == KT_FILE_MODULES || type == KT_FILE_WAVES ||
           type == KT_FILE_RINGS || type == KT_FILE_SLOTS || type == KT_FILE_ORDINAL || type == KT_FILE_DEVICES ||
           type == KT_FILE_TAKEN || type == KT_FILE_PROCESSES || type == KT_FILE_ORIGIN;
}

static int read_section(struct kt_file_section *out, struct kt_reader *reader, uint32_t number)
{
    size_t start = reader->at;
    struct kt_file_section section;
    section.type = kt_read_u32(reader);
    section.flags = kt_read_u32(reader);
    section.payload_bytes = kt_read_u64(reader);
    uint32_t payload_checksum = kt_read_u32(reader);
    uint32_t header_checksum = kt_read_u32(reader);
    if (reader->failed)
        return kt_fail(KTRACE_ERROR_FORMAT, "section %u (offset %zu) begins past the end of the file: " DAMAGED, number,
                       start);
    if (libdeflate_crc32(0, reader->data + start, KT_FILE_SECTION_HEADER_BYTES - 4) != header_checksum)
        return kt_fail(KTRACE_ERROR_FORMAT,
                       "the checksum of the header of section %u (offset %zu) does not match: " DAMAGED, number, start);
    char name[5];
    kt_file_type_name(name, section.type);
    section.payload_offset = reader->at;
    size_t left = kt_reader_left(reader);
    uint64_t padding = -section.payload_bytes & (KT_FILE_ALIGNMENT - 1);
    if (section.payload_bytes > left || padding > left - section.payload_bytes)
        return kt_fail(KTRACE_ERROR_FORMAT, "section %s (offset %zu) says it has %llu bytes, %zu are left: " DAMAGED,
                       name, start, (ull)section.payload_bytes, left);
    const uint8_t *payload = kt_read_bytes(reader, (size_t)section.payload_bytes);
    if (libdeflate_crc32(0, payload, (size_t)section.payload_bytes) != payload_checksum)
        return kt_fail(KTRACE_ERROR_FORMAT, "the checksum of section %s (offset %zu) does not match: " DAMAGED, name,
                       start);
    if (kt_read_little_endian(reader, (unsigned)padding) != 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "section %s (offset %zu) is not padded with zeros: " DAMAGED, name, start);
    if (section.flags & KT_FILE_REQUIRED && !known_type(section.type))
        return kt_fail(KTRACE_ERROR_VERSION,
                       "section %s (offset %zu) is required, and ktrace %s does not know it: use a newer ktrace", name,
                       start, KTRACE_VERSION_STRING);
    *out = section;
    return 0;
}

int kt_file_index_read(struct kt_file_index *out, const void *data, size_t bytes)
{
    struct kt_file_index index;
    uint32_t header_bytes;
    int result = read_file_header(&index, &header_bytes, data, bytes);
    if (result < 0)
        return result;
    if (bytes < index.file_bytes)
        return kt_fail(KTRACE_ERROR_FORMAT,
                       "the file is cut off: it has %zu of %llu bytes; copy it again, or record it again", bytes,
                       (ull)index.file_bytes);
    if (bytes > index.file_bytes)
        return kt_fail(KTRACE_ERROR_FORMAT, "the file has %llu bytes after its end (offset %llu): " DAMAGED,
                       (ull)(bytes - index.file_bytes), (ull)index.file_bytes);
    if (index.section_count > (bytes - header_bytes) / KT_FILE_SECTION_HEADER_BYTES)
        return kt_fail(KTRACE_ERROR_FORMAT, "the file header claims %u sections, more than %zu bytes hold: " DAMAGED,
                       index.section_count, bytes);
    index.sections = kt_array_new(index.section_count, sizeof *index.sections);
    if (!index.sections)
        return KTRACE_ERROR_MEMORY;
    struct kt_reader reader = kt_reader_over(data, bytes);
    kt_read_bytes(&reader, header_bytes);
    for (uint32_t i = 0; i < index.section_count && result == 0; i++)
        result = read_section(&index.sections[i], &reader, i);
    if (result == 0 && kt_reader_left(&reader) != 0)
        result = kt_fail(KTRACE_ERROR_FORMAT,
                         "the last section ends at offset %zu, %zu bytes before the file does: " DAMAGED, reader.at,
                         kt_reader_left(&reader));
    if (result == 0)
        *out = index;
    else
        kt_file_index_free(&index);
    return result;
}

void kt_file_index_free(struct kt_file_index *index)
{
    free(index->sections);
    index->sections = NULL;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

int kt_file_fail(int status, const char *path)
{
    const struct kt_failure failure = kt_failure_keep(status);
    return kt_fail(status, "%s: %s", path, failure.sentence);
}

/* Up to `wanted` bytes, fewer at the end of the file; -1 with errno. */
static ssize_t read_fully(int descriptor, uint8_t *data, size_t wanted)
{
    size_t done = 0;
    while (done < wanted) {
        size_t left = wanted - done;
        ssize_t got = read(descriptor, data + done, left < (1u << 30) ? left : 1u << 30);
        if (got == 0)
            break;
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return -1;
    }
    return (ssize_t)done;
}

/* The header says how long the file is; memory grows with what is really there. One byte more is asked for, to see
 * whether the file goes on. */
static int read_descriptor(void **out, size_t *bytes, int descriptor, const char *path)
{
    size_t capacity = 1u << 16, used = 0;
    uint64_t limit = KT_FILE_HEADER_BYTES;
    uint8_t *data = kt_array_new(capacity, 1);
    if (!data)
        return KTRACE_ERROR_MEMORY;
    for (;;) {
        size_t room = capacity - used;
        size_t wanted = limit - used < room ? (size_t)(limit - used) : room;
        ssize_t got = read_fully(descriptor, data + used, wanted);
        if (got < 0) {
            int error = errno;
            free(data);
            return kt_fail(KTRACE_ERROR_IO, "%s: cannot read: %s", path, strerror(error));
        }
        bool first = used == 0;
        used += (size_t)got;
        if (first) {
            struct kt_file_index index;
            uint32_t header_bytes;
            int result = read_file_header(&index, &header_bytes, data, used);
            if (result < 0) {
                free(data);
                return kt_file_fail(result, path);
            }
            limit = index.file_bytes < SIZE_MAX / 2 ? index.file_bytes + 1 : SIZE_MAX / 2;
            continue;
        }
        if ((size_t)got < wanted || used == limit)
            break;
        int result = kt_array_reserve(&data, &capacity, used + 1, 1);
        if (result < 0) {
            free(data);
            return result;
        }
    }
    *out = data;
    *bytes = used;
    return 0;
}

int kt_file_read(void **data, size_t *bytes, const char *path)
{
    if (!path || !*path)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "a trace cannot be loaded without a path");
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) < 0) {
        int error = errno;
        if (descriptor >= 0)
            close(descriptor);
        return kt_fail(KTRACE_ERROR_IO, "%s: cannot open: %s", path, strerror(error));
    }
    int result = S_ISDIR(status.st_mode)
                     ? kt_fail(KTRACE_ERROR_IO, "%s: this is a directory: name a .ktrace file", path)
                     : read_descriptor(data, bytes, descriptor, path);
    close(descriptor);
    return result;
}
