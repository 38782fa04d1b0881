/* capture_fixture.h - one registered module on a fake device, for tests of captures. */
#ifndef CAPTURE_FIXTURE_H
#define CAPTURE_FIXTURE_H

#include <stdlib.h>

#include "capture.h"
#include "fake_device.h"

struct fixture {
    struct fake_device device;
    struct fake_module module;
    struct ktrace_capture *capture; /* where a test's own set-up begins one */
    uint16_t kernel, mark, push, pop, number;
};

/* A module with the fixture's sites, not registered: in every module they have the same ids. */
static inline void make_module(struct fixture *f, struct fake_module *module)
{
    fake_module_init(module, 0x140);
    f->kernel = fake_site(module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "gemm\0gemm.cu");
    f->mark = fake_site(module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "tick\0gemm.cu");
    f->push = fake_site(module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "body\0gemm.cu");
    f->pop = fake_site(module, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "\0gemm.cu");
    f->number = fake_site(module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_UINT64, "number\0gemm.cu");
}

static inline int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    fake_device_init(&f->device);
    make_module(f, &f->module);
    ktrace_register(&f->module.registration);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;
    ktrace_unregister(&f->module.registration);
    fake_module_free(&f->module);
    free(f);
    return 0;
}

static inline struct ktrace_trace_info info_of(const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_get_info(&info, trace), 0);
    return info;
}

#endif
