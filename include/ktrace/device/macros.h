/* device/macros.h - what the annotations are called and how many arguments they take, on every target. Part of nvidia.h and
 * amdgcn.h, which define KTRACE_MARK_1(name), KTRACE_MARK_2(name, payload) and so on, and what a handle is.
 */
#ifndef KTRACE_DEVICE_MACROS_H
#define KTRACE_DEVICE_MACROS_H

#define KTRACE_JOIN_(a, b) a##b
#define KTRACE_JOIN(a, b) KTRACE_JOIN_(a, b)
#define KTRACE_SELECT_(one, two, three, four, chosen, ...) chosen
#define KTRACE_SELECT(plain, with_payload, ...) \
    KTRACE_SELECT_(__VA_ARGS__, KTRACE_TOO_MANY, KTRACE_TOO_MANY, with_payload, plain, )(__VA_ARGS__)
#define KTRACE_TOO_MANY(...) an_annotation_takes_a_name_and_one_payload_in_parentheses_if_it_has_commas()

/* What KTRACE_KERNEL or KTRACE_PARAM declares; the name is what a compiler says when both are missing. */
#define KTRACE_HANDLE ktrace_handle_that_KTRACE_KERNEL_or_KTRACE_PARAM_declares

#define KTRACE_MARK(...) KTRACE_SELECT(KTRACE_MARK_1, KTRACE_MARK_2, __VA_ARGS__)
#define KTRACE_RANGE_PUSH(...) KTRACE_SELECT(KTRACE_PUSH_1, KTRACE_PUSH_2, __VA_ARGS__)
#define KTRACE_RANGE_START(...) KTRACE_SELECT(KTRACE_START_1, KTRACE_START_2, __VA_ARGS__)
#define KTRACE_RANGE_STOP(...) KTRACE_SELECT(KTRACE_STOP_1, KTRACE_STOP_2, __VA_ARGS__)
#define KTRACE_RANGE_NEXT(token, ...) \
    KTRACE_SELECT_(__VA_ARGS__, KTRACE_TOO_MANY, KTRACE_TOO_MANY, KTRACE_NEXT_2, KTRACE_NEXT_1, )(token, __VA_ARGS__)
#define KTRACE_INACTIVE_TOKEN(name) ((void)sizeof(name ""), (ktrace_token)0)
#define KTRACE_PARAM , KTRACE_PARAM_ONLY
#define KTRACE_ARG , KTRACE_ARG_ONLY
#define KTRACE_PARAM_IF(traced) , KTRACE_PARAM_ONLY_IF(traced)
#define KTRACE_ARG_ONLY KTRACE_HANDLE

#endif
