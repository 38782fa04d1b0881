#include "watch_client.h"

#include "../array.h"
#include "../backend/host_clock.h"
#include "../scan.h"
#include "../trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 8 << 20, FILE_BYTES_MAX = 16 << 20 };

/* ---- What /proc says of a process -------------------------------------------------------------------------------- */

/* The beginning of /proc/PID/NAME: false with errno set where it cannot be read. Destroy `out` in any case. */
static bool read_proc(struct kt_string *out, pid_t pid, const char *name)
{
    char path[64], buffer[4096];
    ssize_t got;
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    while ((got = read(file, buffer, sizeof buffer)) > 0 && out->length < FILE_BYTES_MAX)
        kt_string_append_bytes(out, buffer, (size_t)got);
    const int error = errno;
    close(file);
    errno = error;
    return got >= 0;
}

void watch_append_name(struct kt_string *out, pid_t pid)
{
    struct kt_string name = KT_STRING_INIT;
    if (read_proc(&name, pid, "comm") && name.length > 1) {
        name.text[name.length - 1] = 0; /* its newline */
        kt_string_append_visible(out, name.text);
    }
    kt_string_destroy(&name);
}

void watch_append_arguments(struct kt_string *out, pid_t pid)
{
    enum { LONGEST = 200 };
    struct kt_string arguments = KT_STRING_INIT;
    read_proc(&arguments, pid, "cmdline");
    size_t length = arguments.length < LONGEST ? arguments.length : LONGEST;
    while (length && arguments.text[length - 1] == 0)
        length--;
    for (size_t i = 0; i < length; i++)
        kt_string_append_char(out, arguments.text[i] ? arguments.text[i] : ' ');
    kt_string_destroy(&arguments);
}

void watch_append_process(struct kt_string *out, pid_t pid)
{
    struct kt_string name = KT_STRING_INIT;
    kt_string_printf(out, "%ld", (long)pid);
    watch_append_name(&name, pid);
    if (name.length)
        kt_string_printf(out, " (%s)", kt_string_text(&name));
    kt_string_destroy(&name);
}

/* Its id as it knows itself: the last of those that its namespaces have for it. */
static pid_t own_pid(pid_t pid)
{
    struct kt_string status = KT_STRING_INIT;
    long own = (long)pid;
    read_proc(&status, pid, "status");
    const char *line = strstr(kt_string_text(&status), "\nNSpid:");
    if (line) {
        const char *end = line + 1 + strcspn(line + 1, "\n");
        while (end > line && end[-1] >= '0' && end[-1] <= '9')
            end--;
        own = strtol(end, NULL, 10);
    }
    kt_string_destroy(&status);
    return own > 0 ? (pid_t)own : pid;
}

/* Whether KTRACE_WATCH is on in the environment that it was started with. */
static bool was_asked_for(pid_t pid)
{
    static const char variable[] = "KTRACE_WATCH=";
    struct kt_string environment = KT_STRING_INIT;
    int on = 0;
    read_proc(&environment, pid, "environ");
    for (size_t at = 0; at < environment.length; at += strlen(environment.text + at) + 1)
        if (strncmp(environment.text + at, variable, sizeof variable - 1) == 0 &&
            kt_parse_flag(&on, "KTRACE_WATCH", environment.text + at + sizeof variable - 1) < 0)
            on = 0;
    kt_string_destroy(&environment);
    return on;
}

/* What its /proc/PID/stat says behind the name, which may hold anything: " S 1 ..."; "" where it cannot be read. Destroy `out` in any case. */
static const char *read_stat(struct kt_string *out, pid_t pid)
{
    read_proc(out, pid, "stat");
    const char *end_of_name = strrchr(kt_string_text(out), ')');
    return end_of_name ? end_of_name + 1 : "";
}

/* A process that has ended, and whose parent has not asked how. */
static bool is_zombie(pid_t pid)
{
    struct kt_string stat = KT_STRING_INIT;
    const char *state = read_stat(&stat, pid);
    const bool zombie = *state && (state[1] == 'Z' || state[1] == 'X');
    kt_string_destroy(&stat);
    return zombie;
}

/* 0: none, or not known. */
static pid_t parent_of(pid_t pid)
{
    struct kt_string stat = KT_STRING_INIT;
    long parent = 0;
    if (sscanf(read_stat(&stat, pid), " %*c %ld", &parent) != 1)
        parent = 0;
    kt_string_destroy(&stat);
    return (pid_t)parent;
}

/* Its namespace of process ids. False: it has ended, or belongs to another user, whom only root may look at. */
static bool read_pid_namespace(uint64_t *pid_namespace, pid_t pid)
{
    struct stat status;
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/ns/pid", (long)pid);
    if (stat(path, &status) < 0)
        return false;
    *pid_namespace = status.st_ino;
    return true;
}

/* ---- Listing ----------------------------------------------------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
    const pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;
    return (a > b) - (a < b);
}

/* A line of /proc/net/unix ends with the name, whose zero byte is shown as '@'; it is there again for each connection. */
int watch_list(pid_t **pids, size_t *count)
{
    struct stat own;
    struct kt_string sockets = KT_STRING_INIT;
    pid_t *found = NULL;
    size_t room = 0, used = 0;
    if (stat("/proc/self/ns/pid", &own) < 0 || !read_proc(&sockets, getpid(), "net/unix")) {
        cli_error("/proc/net/unix, which lists sockets: %s", strerror(errno));
        kt_string_destroy(&sockets);
        return -1;
    }
    for (const char *at = kt_string_text(&sockets); (at = strstr(at, " @" KT_WATCH_PREFIX)) != NULL; at++) {
        uint64_t pid_namespace, its_namespace;
        long pid;
        if (sscanf(at + sizeof " @" KT_WATCH_PREFIX - 1, "%" SCNu64 "/%ld", &pid_namespace, &pid) != 2 ||
            pid_namespace != own.st_ino || !read_pid_namespace(&its_namespace, (pid_t)pid))
            continue;
        if (kt_array_reserve(&found, &room, used + 1, sizeof *found) < 0) {
            free(found);
            kt_string_destroy(&sockets);
            cli_error_library();
            return -1;
        }
        found[used++] = (pid_t)pid;
    }
    kt_string_destroy(&sockets);
    if (used)
        qsort(found, used, sizeof *found, by_number);
    size_t kept = 0;
    for (size_t i = 0; i < used; i++)
        if (kept == 0 || found[kept - 1] != found[i])
            found[kept++] = found[i];
    *pids = found;
    *count = kept;
    return 0;
}

static bool descends_from(pid_t pid, pid_t ancestor)
{
    enum { DEEPEST = 64 };
    for (int i = 0; i < DEEPEST && pid > 0; i++) {
        pid = parent_of(pid);
        if (pid == ancestor)
            return true;
    }
    return false;
}

/* Those that it has started, as scripts, launchers and `ktrace record` do: ", but these can, which it has started: 12 (a), 13 (b)". */
static void append_descendants(struct kt_string *out, pid_t ancestor)
{
    enum { NAMED = 8 };
    pid_t *pids;
    size_t count, found = 0;
    if (watch_list(&pids, &count) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        if (!descends_from(pids[i], ancestor) || found++ >= NAMED)
            continue;
        kt_string_append(out, found == 1 ? ", but these can, which it has started: " : ", ");
        watch_append_process(out, pids[i]);
    }
    if (found > NAMED)
        kt_string_printf(out, " and %zu more", found - NAMED);
    free(pids);
}

/* ---- Connecting -------------------------------------------------------------------------------------------------- */

struct process {
    pid_t pid;
    uid_t user;
    uint64_t pid_namespace;
};

static void say_not_yours(struct kt_string *why, const struct process *process)
{
    kt_string_append(why, "process ");
    watch_append_process(why, process->pid);
    if (process->user == geteuid())
        kt_string_append(
            why, " is closed to this one, though both are of one user: watch it from its own container, or with "
                 "the right to trace it");
    else
        kt_string_printf(why, " belongs to user %u: that user can watch it, and root", (unsigned)process->user);
}

static enum watch_outcome find_process(struct process *out, struct kt_string *why, pid_t pid)
{
    struct process process = {.pid = pid};
    struct stat status;
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    if (stat(path, &status) < 0) {
        kt_string_printf(why, "there is no process %ld", (long)pid);
        return WATCH_NO_PROCESS;
    }
    process.user = status.st_uid;
    if (is_zombie(pid)) {
        kt_string_append(why, "process ");
        watch_append_process(why, pid);
        kt_string_append(why, " has ended");
        return WATCH_NO_PROCESS;
    }
    if (!read_pid_namespace(&process.pid_namespace, pid)) {
        say_not_yours(why, &process);
        return WATCH_NOT_YOURS;
    }
    *out = process;
    return WATCH_FETCHED;
}

static enum watch_outcome fail_to_look(struct kt_string *why, const struct process *process, const char *sentence)
{
    kt_string_append(why, "process ");
    watch_append_process(why, process->pid);
    kt_string_append(why, " could not be looked at: ");
    kt_string_append(why, sentence);
    return WATCH_FAILED;
}

static enum watch_outcome say_nobody_listens(struct kt_string *why, const struct process *process)
{
    const bool asked = was_asked_for(process->pid);
    kt_string_append(why, "process ");
    watch_append_process(why, process->pid);
    if (asked) {
        kt_string_append(why, " can be watched once it begins a capture, which it has not yet: --wait waits for that");
    } else {
        kt_string_append(why, " cannot be watched");
        const size_t length = why->length;
        append_descendants(why, process->pid);
        if (why->length == length)
            kt_string_append(why, ": start it with KTRACE_WATCH=1 in its environment, or with 'ktrace record'");
    }
    return asked ? WATCH_NOT_BEGUN : WATCH_NOT_ASKED;
}

/* Anybody could have taken the name. */
static bool is_it(int connection, const struct process *process)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid == process->pid &&
           peer.uid == process->user;
}

/* Waits where many others wait to be heard. */
static int connect_until(int connection, const struct sockaddr_un *address, socklen_t bytes, int64_t deadline_ms)
{
    enum { PAUSE_MS = 10 };
    int status;
    while ((status = connect(connection, (const struct sockaddr *)address, bytes)) < 0 && errno == EAGAIN &&
           kt_monotonic_ms() < deadline_ms)
        poll(NULL, 0, PAUSE_MS);
    return status;
}

static enum watch_outcome open_connection(int *out, struct kt_string *why, const struct process *process,
                                          int timeout_ms)
{
    struct sockaddr_un address;
    const socklen_t bytes = kt_watch_address(&address, process->pid_namespace, own_pid(process->pid));
    const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connection < 0)
        return fail_to_look(why, process, strerror(errno));
    if (connect_until(connection, &address, bytes, kt_monotonic_ms() + timeout_ms) < 0) {
        const int error = errno;
        close(connection);
        if (error == ECONNREFUSED)
            return say_nobody_listens(why, process);
        return fail_to_look(why, process, error == EAGAIN ? "too many others look at it" : strerror(error));
    }
    if (!is_it(connection, process)) {
        close(connection);
        return fail_to_look(why, process, "another process answers in its place");
    }
    *out = connection;
    return WATCH_FETCHED;
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

/* Memory grows with what arrives: a length alone allocates nothing. */
static int receive_trace(struct ktrace_trace **out, int connection, uint64_t bytes, int stop)
{
    uint8_t *data = NULL;
    size_t room = 0, have = 0;
    const int64_t deadline_ms = kt_monotonic_ms() + kt_watch_transfer_ms(bytes);
    int status = KTRACE_OK;
    while (status == KTRACE_OK && have < bytes) {
        const size_t piece = bytes - have < PIECE_BYTES ? (size_t)(bytes - have) : PIECE_BYTES;
        status = kt_array_reserve(&data, &room, have + piece, 1);
        if (status == KTRACE_OK)
            status = kt_watch_receive(connection, data + have, piece, stop, deadline_ms);
        have += piece;
    }
    if (status == KTRACE_OK)
        status = ktrace_trace_load_memory(out, data, have);
    free(data);
    return status;
}

/* KTRACE_OK, or a status with the error set: what the process says, or what keeps it from being heard. */
static int ask(struct watch_look *out, int connection, int timeout_ms, int stop)
{
    enum { ANSWER_MS = 2000 }; /* from the look to its answer */
    const struct kt_watch_request request = {.patience_ms = (uint32_t)timeout_ms};
    const int64_t deadline_ms = kt_monotonic_ms() + timeout_ms + ANSWER_MS;
    uint8_t asked[KT_WATCH_REQUEST_BYTES], answered[KT_WATCH_ANSWER_BYTES];
    char sentence[KT_WATCH_SENTENCE_MAX + 1] = "";
    struct watch_look look = {.trace = NULL};
    kt_watch_encode_request(asked, &request);
    int status = kt_watch_send(connection, asked, sizeof asked, stop, deadline_ms);
    if (status == KTRACE_OK)
        status = kt_watch_receive(connection, answered, sizeof answered, stop, deadline_ms);
    if (status == KTRACE_OK)
        status = kt_watch_decode_answer(&look.facts, answered);
    if (status == KTRACE_OK)
        status = kt_watch_receive(connection, sentence, look.facts.sentence_bytes, stop, deadline_ms);
    if (status == KTRACE_OK && look.facts.status < 0)
        return kt_fail(look.facts.status, "%s", sentence);
    if (status == KTRACE_OK)
        status = receive_trace(&look.trace, connection, look.facts.trace_bytes, stop);
    if (status == KTRACE_OK)
        *out = look;
    return status;
}

enum watch_outcome watch_fetch_or_stop(struct watch_look *out, struct kt_string *why, pid_t pid, int timeout_ms,
                                       int stop)
{
    struct process process;
    int connection = -1;
    enum watch_outcome outcome = find_process(&process, why, pid);
    if (outcome == WATCH_FETCHED)
        outcome = open_connection(&connection, why, &process, timeout_ms);
    if (outcome != WATCH_FETCHED)
        return outcome;
    const int status = ask(out, connection, timeout_ms, stop);
    close(connection);
    if (status == KTRACE_OK)
        return WATCH_FETCHED;
    fail_to_look(why, &process, ktrace_last_error());
    return status == KTRACE_ERROR_STATE ? WATCH_NO_CAPTURE : WATCH_FAILED;
}

enum watch_outcome watch_fetch(struct watch_look *out, struct kt_string *why, pid_t pid, int timeout_ms)
{
    return watch_fetch_or_stop(out, why, pid, timeout_ms, -1);
}
