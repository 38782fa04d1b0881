#include "watch_wire.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "backend/host_clock.h"
#include "error.h"
#include "reader.h"

/* ---- Frames ------------------------------------------------------------------------------------------------------ */

static void put(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

void kt_watch_encode_request(uint8_t out[KT_WATCH_REQUEST_BYTES], const struct kt_watch_request *request)
{
    memset(out, 0, KT_WATCH_REQUEST_BYTES);
    put(out, KT_WATCH_REQUEST_MAGIC, 4);
    put(out + 4, KT_WATCH_VERSION, 2);
    put(out + 6, KT_WATCH_PEEK, 2);
    put(out + 8, request->patience_ms, 4);
}

void kt_watch_encode_answer(uint8_t out[KT_WATCH_ANSWER_BYTES], const struct kt_watch_answer *answer)
{
    memset(out, 0, KT_WATCH_ANSWER_BYTES);
    put(out, KT_WATCH_ANSWER_MAGIC, 4);
    put(out + 4, KT_WATCH_VERSION, 2);
    put(out + 6, answer->flags, 2);
    put(out + 8, (uint32_t)answer->status, 4);
    put(out + 12, answer->capture, 4);
    put(out + 16, answer->gathered, 8);
    put(out + 24, answer->now_ns, 8);
    put(out + 32, answer->trace_bytes, 8);
    put(out + 40, answer->sentence_bytes, 4);
}

static int check_version(uint32_t magic, uint32_t wanted, uint32_t version, const char *what)
{
    if (magic != wanted)
        return kt_fail(KTRACE_ERROR_FORMAT, "this is no %s of ktrace watch", what);
    if (version != KT_WATCH_VERSION)
        return kt_fail(KTRACE_ERROR_VERSION,
                       "the other side speaks version %u of ktrace watch, and ktrace %s version %d: use the command "
                       "and the library of one ktrace",
                       version, KTRACE_VERSION_STRING, KT_WATCH_VERSION);
    return KTRACE_OK;
}

int kt_watch_decode_request(struct kt_watch_request *out, const uint8_t in[KT_WATCH_REQUEST_BYTES])
{
    struct kt_reader reader = kt_reader_over(in, KT_WATCH_REQUEST_BYTES);
    const uint32_t magic = kt_read_u32(&reader), version = kt_read_u16(&reader), kind = kt_read_u16(&reader);
    const struct kt_watch_request request = {.patience_ms = kt_read_u32(&reader)};
    const int status = check_version(magic, KT_WATCH_REQUEST_MAGIC, version, "request");
    if (status < 0)
        return status;
    if (kind != KT_WATCH_PEEK || kt_read_u32(&reader) != 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "a request of kind %u is not known", kind);
    if (request.patience_ms > KT_WATCH_PATIENCE_MAX_MS)
        return kt_fail(KTRACE_ERROR_FORMAT, "a request may wait %d ms, not %u", KT_WATCH_PATIENCE_MAX_MS,
                       request.patience_ms);
    *out = request;
    return KTRACE_OK;
}

int kt_watch_decode_answer(struct kt_watch_answer *out, const uint8_t in[KT_WATCH_ANSWER_BYTES])
{
    struct kt_reader reader = kt_reader_over(in, KT_WATCH_ANSWER_BYTES);
    const uint32_t magic = kt_read_u32(&reader), version = kt_read_u16(&reader);
    struct kt_watch_answer answer = {.flags = kt_read_u16(&reader)};
    answer.status = (int32_t)kt_read_u32(&reader);
    answer.capture = kt_read_u32(&reader);
    answer.gathered = kt_read_u64(&reader);
    answer.now_ns = kt_read_u64(&reader);
    answer.trace_bytes = kt_read_u64(&reader);
    answer.sentence_bytes = kt_read_u32(&reader);
    const int status = check_version(magic, KT_WATCH_ANSWER_MAGIC, version, "answer");
    if (status < 0)
        return status;
    if (answer.status > 0 || answer.sentence_bytes > KT_WATCH_SENTENCE_MAX || answer.trace_bytes > SIZE_MAX / 2 ||
        (answer.status < 0) != (answer.sentence_bytes > 0) || (answer.status == 0) != (answer.trace_bytes > 0) ||
        kt_read_u32(&reader) != 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "an answer of ktrace watch contradicts itself");
    *out = answer;
    return KTRACE_OK;
}

/* ---- Sockets ----------------------------------------------------------------------------------------------------- */

socklen_t kt_watch_address(struct sockaddr_un *out, uint64_t pid_namespace, pid_t pid)
{
    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX;
    const int length = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, KT_WATCH_PREFIX "%llu/%ld",
                                (unsigned long long)pid_namespace, (long)pid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int64_t kt_watch_transfer_ms(uint64_t bytes)
{
    enum { AT_LEAST_MS = 5000, SLOWEST_BYTES_PER_MS = 4096 };
    return AT_LEAST_MS + (int64_t)(bytes / SLOWEST_BYTES_PER_MS);
}

/* Until `events` are possible on the descriptor. */
static int wait_for(int descriptor, short events, int stop, int64_t deadline_ms)
{
    for (;;) {
        struct pollfd polls[2] = {{.fd = descriptor, .events = events}, {.fd = stop, .events = POLLIN}};
        const int64_t left_ms = deadline_ms - kt_monotonic_ms();
        if (left_ms <= 0)
            return kt_fail(KTRACE_ERROR_IO, "the other side is silent");
        const int ready = poll(polls, 2, left_ms > 1000 ? 1000 : (int)left_ms);
        if (ready < 0 && errno != EINTR)
            return kt_fail(KTRACE_ERROR_IO, "waiting at a socket: %s", strerror(errno));
        if (ready > 0 && polls[1].revents)
            return kt_fail(KTRACE_ERROR_IO, "it was ended");
        if (ready > 0)
            return KTRACE_OK;
    }
}

static int transfer(int descriptor, uint8_t *data, size_t bytes, int stop, int64_t deadline_ms, int is_sending)
{
    for (size_t done = 0; done < bytes;) {
        const int status = wait_for(descriptor, is_sending ? POLLOUT : POLLIN, stop, deadline_ms);
        if (status < 0)
            return status;
        const ssize_t count = is_sending ? send(descriptor, data + done, bytes - done, MSG_NOSIGNAL | MSG_DONTWAIT)
                                         : recv(descriptor, data + done, bytes - done, MSG_DONTWAIT);
        if (count == 0 && !is_sending)
            return kt_fail(KTRACE_ERROR_IO, "the other side ended the connection");
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            return kt_fail(KTRACE_ERROR_IO, "%s", strerror(errno));
        if (count > 0)
            done += (size_t)count;
    }
    return KTRACE_OK;
}

int kt_watch_receive(int descriptor, void *data, size_t bytes, int stop, int64_t deadline_ms)
{
    return transfer(descriptor, data, bytes, stop, deadline_ms, 0);
}

int kt_watch_send(int descriptor, const void *data, size_t bytes, int stop, int64_t deadline_ms)
{
    return transfer(descriptor, (uint8_t *)(uintptr_t)data, bytes, stop, deadline_ms, 1);
}
