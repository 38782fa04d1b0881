// expect: an_annotation_takes_a_name_and_one_payload_in_parentheses_if_it_has_commas
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__attribute__((amdgpu_kernel)) void kernel(int a)
{
    KTRACE_KERNEL("kernel");
    KTRACE_MARK("mark", a, a);
}
