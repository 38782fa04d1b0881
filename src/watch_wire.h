/* watch_wire.h - what `ktrace watch` and a program that may be watched tell each other, and where they meet.
 *
 * They meet at a unix socket in Linux's abstract namespace, "\0ktrace-watch/<pid namespace>/<process id>": no file that a
 * killed process would leave behind, no folder that two environments would name differently, and nothing to clean up. The
 * namespace's number tells apart processes of containers that share a network and count their processes from 1. Everybody can
 * connect to such a name, so both sides look at who the other is (SO_PEERCRED).
 *
 * A connection is one request and one answer, little-endian:
 *
 *   request  16 bytes: magic, u16 version, u16 kind, u32 patience in ms, u32 reserved
 *   answer   48 bytes: magic, u16 version, u16 flags, i32 status, u32 capture, u64 gathered, u64 now, u64 bytes of the trace,
 *                      u32 bytes of the sentence, u32 reserved; then the sentence, then the trace, as in a .ktrace file
 *
 * Magic, version, status and the sentence's length keep their places in every version, so that each side can say what is wrong.
 */
#ifndef KT_WATCH_WIRE_H
#define KT_WATCH_WIRE_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define KT_WATCH_REQUEST_MAGIC 0x5157544Bu /* "KTWQ" */
#define KT_WATCH_ANSWER_MAGIC 0x4157544Bu  /* "KTWA" */
#define KT_WATCH_PREFIX "ktrace-watch/"
enum {
    KT_WATCH_VERSION = 1,
    KT_WATCH_REQUEST_BYTES = 16,
    KT_WATCH_ANSWER_BYTES = 48,
    KT_WATCH_SENTENCE_MAX = 2048,
    KT_WATCH_PATIENCE_MAX_MS = 600000
};
enum kt_watch_kind { KT_WATCH_PEEK = 1 };
enum kt_watch_flags { KT_WATCH_PROCESS_WIDE = 1 /* not a capture of the program's, but process-wide collection */ };

struct kt_watch_request {
    uint32_t patience_ms; /* how long the answer may take; then it says that there is none yet */
};
struct kt_watch_answer {
    int32_t status;    /* enum ktrace_status; below 0 there is a sentence and no trace */
    uint32_t flags;    /* enum kt_watch_flags */
    uint32_t capture;  /* number of the capture in its process: another one is another capture */
    uint64_t gathered; /* how often what it had recorded was taken from the devices, or forgotten: it began anew then */
    uint64_t now_ns;   /* the host's CLOCK_MONOTONIC when it was copied: for rates */
    uint64_t trace_bytes;
    uint32_t sentence_bytes;
};

void kt_watch_encode_request(uint8_t out[KT_WATCH_REQUEST_BYTES], const struct kt_watch_request *request);
void kt_watch_encode_answer(uint8_t out[KT_WATCH_ANSWER_BYTES], const struct kt_watch_answer *answer);
/* KTRACE_ERROR_FORMAT: it is none; KTRACE_ERROR_VERSION: of another ktrace. Lengths are within limits. */
int kt_watch_decode_request(struct kt_watch_request *out, const uint8_t in[KT_WATCH_REQUEST_BYTES]);
int kt_watch_decode_answer(struct kt_watch_answer *out, const uint8_t in[KT_WATCH_ANSWER_BYTES]);

/* The address of process `pid` of that pid namespace, and its length. */
socklen_t kt_watch_address(struct sockaddr_un *out, uint64_t pid_namespace, pid_t pid);

/* All of `bytes` until `deadline_ms`, of a descriptor that does not block. `stop`, if not negative, ends it once there is
 * something to read from. KTRACE_ERROR_IO: too late, stopped, or the other side is gone, as the sentence says. */
int kt_watch_receive(int descriptor, void *data, size_t bytes, int stop, int64_t deadline_ms);
int kt_watch_send(int descriptor, const void *data, size_t bytes, int stop, int64_t deadline_ms);
/* How long so many bytes may take over a local socket whose other side is alive. */
int64_t kt_watch_transfer_ms(uint64_t bytes);

#endif
