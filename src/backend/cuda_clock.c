#include "cuda_clock.h"

#include <string.h>
#include <time.h>

#include "host_clock.h"

/* On lines of their own: the host writes one, the device the other. */
struct mailbox {
    uint32_t question; /* 1, 2, ... */
    uint32_t padding[31];
    uint64_t answer_ns;
    uint32_t answered; /* the number of the question; behind the answer */
};

/* A read of host memory takes about a microsecond: a million of them is the second after which it gives up. */
const char kt_cuda_clock_source[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                                    ".visible .entry ktrace_answer_clock(.param .u64 mailbox)\n"
                                    "{\n"
                                    "    .reg .u64 %mail, %now;\n"
                                    "    .reg .u32 %number, %asked, %patience;\n"
                                    "    .reg .pred %come, %over, %done;\n"
                                    "    ld.param.u64 %mail, [mailbox];\n"
                                    "    cvta.to.global.u64 %mail, %mail;\n"
                                    "    mov.u32 %number, 1;\n"
                                    "next:\n"
                                    "    mov.u32 %patience, 1000000;\n"
                                    "again:\n"
                                    "    ld.volatile.global.u32 %asked, [%mail];\n"
                                    "    setp.eq.u32 %come, %asked, %number;\n"
                                    "    @%come bra answer;\n"
                                    "    sub.u32 %patience, %patience, 1;\n"
                                    "    setp.eq.u32 %over, %patience, 0;\n"
                                    "    @%over bra end;\n"
                                    "    bra again;\n"
                                    "answer:\n"
                                    "    mov.u64 %now, %globaltimer;\n"
                                    "    st.volatile.global.u64 [%mail+128], %now;\n"
                                    "    membar.sys;\n"
                                    "    st.volatile.global.u32 [%mail+136], %number;\n"
                                    "    add.u32 %number, %number, 1;\n"
                                    "    setp.gt.u32 %done, %number, 16;\n"
                                    "    @%done bra end;\n"
                                    "    bra next;\n"
                                    "end:\n"
                                    "    ret;\n"
                                    "}\n";

_Static_assert(offsetof(struct mailbox, answer_ns) == 128 && offsetof(struct mailbox, answered) == 136,
               "as the PTX has it");
_Static_assert(sizeof(struct mailbox) <= KT_CLOCK_MAILBOX_BYTES, "it has room");
_Static_assert(KT_CLOCK_QUESTIONS == 16, "as the PTX has it");

/* 0: no answer for a second, by a clock that nobody sets. */
static int ask(struct kt_host_anchor *out, struct mailbox *mailbox, uint32_t question)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    out->host_before_ns = kt_host_now_ns();
    __atomic_store_n(&mailbox->question, question, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&mailbox->answered, __ATOMIC_ACQUIRE) != question) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if ((now.tv_sec - begin.tv_sec) * 1000000000ll + (now.tv_nsec - begin.tv_nsec) > 1000000000ll)
            return 0;
    }
    out->host_after_ns = kt_host_now_ns();
    out->device_ns = __atomic_load_n(&mailbox->answer_ns, __ATOMIC_RELAXED);
    return 1;
}

kt_cu_result kt_cuda_ask_clock(struct kt_host_anchor *out, const struct kt_cuda_api *api, kt_cu_function kernel,
                               kt_cu_stream stream, void *memory)
{
    struct mailbox *mailbox = memory;
    struct kt_host_anchor best = {.host_before_ns = 0, .host_after_ns = UINT64_MAX};
    kt_cu_pointer address = (kt_cu_pointer)(uintptr_t)memory; /* pinned memory is where the device sees it, too */
    void *parameters[] = {&address};
    memset(mailbox, 0, sizeof *mailbox);
    kt_cu_result result = api->launch_kernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
    if (result != KT_CU_SUCCESS)
        return result;
    for (uint32_t question = 1; question <= KT_CLOCK_QUESTIONS; question++) {
        struct kt_host_anchor anchor;
        if (!ask(&anchor, mailbox, question))
            return KT_CU_ERROR_TIMEOUT;
        if (anchor.host_after_ns - anchor.host_before_ns < best.host_after_ns - best.host_before_ns)
            best = anchor;
    }
    result = api->stream_synchronize(stream);
    if (result == KT_CU_SUCCESS)
        *out = best;
    return result;
}
