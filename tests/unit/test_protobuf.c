#include "export/protobuf.h"
#include "ktrace/ktrace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_bytes(const struct kt_pb *pb, const void *expected, size_t bytes)
{
    assert_int_equal(kt_pb_status(pb), KTRACE_OK);
    assert_int_equal(pb->bytes, bytes);
    assert_memory_equal(pb->data, expected, bytes);
}
#define ASSERT_BYTES(pb, literal) assert_bytes(pb, literal, sizeof(literal) - 1)

static void test_varints_have_their_shortest_form(void **state)
{
    (void)state;
    struct kt_pb pb = KT_PB_INIT;
    kt_pb_uint(&pb, 1, 0);
    kt_pb_uint(&pb, 1, 127);
    kt_pb_uint(&pb, 1, 128);
    kt_pb_uint(&pb, 1, 16383);
    kt_pb_uint(&pb, 1, 16384);
    kt_pb_uint(&pb, 1, UINT64_MAX);
    kt_pb_int(&pb, 1, -1);
    kt_pb_int(&pb, 1, INT64_MIN);
    ASSERT_BYTES(&pb, "\x08\x00"
                      "\x08\x7F"
                      "\x08\x80\x01"
                      "\x08\xFF\x7F"
                      "\x08\x80\x80\x01"
                      "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"
                      "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"
                      "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
    kt_pb_destroy(&pb);
}

static void test_tags_of_every_length(void **state)
{
    (void)state;
    struct kt_pb pb = KT_PB_INIT;
    kt_pb_uint(&pb, 15, 1);
    kt_pb_uint(&pb, 16, 1);
    kt_pb_uint(&pb, 2047, 1);
    kt_pb_uint(&pb, 2048, 1);
    kt_pb_uint(&pb, (1u << 29) - 1, 1);
    ASSERT_BYTES(&pb, "\x78\x01"
                      "\x80\x01\x01"
                      "\xF8\x7F\x01"
                      "\x80\x80\x01\x01"
                      "\xF8\xFF\xFF\xFF\x0F\x01");
    kt_pb_destroy(&pb);
}

static void test_doubles_are_little_endian(void **state)
{
    (void)state;
    struct kt_pb pb = KT_PB_INIT;
    kt_pb_double(&pb, 5, 1.0);
    kt_pb_double(&pb, 5, -0.0);
    ASSERT_BYTES(&pb, "\x29\x00\x00\x00\x00\x00\x00\xF0\x3F"
                      "\x29\x00\x00\x00\x00\x00\x00\x00\x80");
    kt_pb_destroy(&pb);
}

static void test_strings_and_bytes(void **state)
{
    (void)state;
    struct kt_pb pb = KT_PB_INIT;
    kt_pb_string(&pb, 2, "");
    kt_pb_string(&pb, 2, "abc");
    kt_pb_bytes(&pb, 2, "a\0b", 3);
    kt_pb_bytes(&pb, 2, NULL, 0);
    ASSERT_BYTES(&pb, "\x12\x00"
                      "\x12\x03"
                      "abc"
                      "\x12\x03"
                      "a\0b"
                      "\x12\x00");
    kt_pb_destroy(&pb);
}

/* A message of `bytes` bytes with something before and behind, inside another. */
static void check_message(size_t bytes)
{
    struct kt_pb pb = KT_PB_INIT;
    kt_pb_uint(&pb, 1, 1);
    size_t outer = kt_pb_begin(&pb, 2);
    size_t inner = kt_pb_begin(&pb, 3);
    for (size_t i = 0; i < bytes; i++) {
        assert_true(kt_pb_reserve(&pb, 1));
        pb.data[pb.bytes++] = (uint8_t)i;
    }
    kt_pb_end(&pb, inner);
    kt_pb_end(&pb, outer);
    kt_pb_uint(&pb, 1, 2);

    uint8_t length[KT_PB_VARINT_MAX_BYTES];
    size_t inner_length_bytes = (size_t)(kt_pb_put_varint(length, bytes) - length);
    size_t outer_bytes = 1 + inner_length_bytes + bytes;
    const uint8_t *at = pb.data;
    assert_memory_equal(at, "\x08\x01\x12", 3);
    at += 3;
    size_t outer_length_bytes = (size_t)(kt_pb_put_varint(length, outer_bytes) - length);
    assert_memory_equal(at, length, outer_length_bytes);
    at += outer_length_bytes;
    assert_int_equal(*at++, 0x1A);
    kt_pb_put_varint(length, bytes);
    assert_memory_equal(at, length, inner_length_bytes);
    at += inner_length_bytes;
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(*at++, (uint8_t)i);
    assert_memory_equal(at, "\x08\x02", 2);
    assert_ptr_equal(at + 2, pb.data + pb.bytes);
    kt_pb_destroy(&pb);
}

static void test_lengths_are_patched(void **state)
{
    (void)state;
    const size_t sizes[] = {0,     1,     124,   125,   126,   127,   128,   129,
                            16379, 16380, 16381, 16383, 16384, 16385, 70000, 2097152};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        check_message(sizes[i]);
}

static void test_clear_keeps_the_memory(void **state)
{
    (void)state;
    struct kt_pb pb = KT_PB_INIT;
    kt_pb_string(&pb, 1, "something");
    uint8_t *data = pb.data;
    kt_pb_clear(&pb);
    assert_int_equal(pb.bytes, 0);
    kt_pb_uint(&pb, 1, 3);
    assert_ptr_equal(pb.data, data);
    ASSERT_BYTES(&pb, "\x08\x03");
    kt_pb_destroy(&pb);
    assert_null(pb.data);
}

static void test_a_failed_allocation_sticks(void **state)
{
    (void)state;
    const size_t impossible[] = {SIZE_MAX, SIZE_MAX / 2 + 2};
    for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++) {
        struct kt_pb pb = KT_PB_INIT;
        kt_pb_uint(&pb, 1, 3);
        size_t message = kt_pb_begin(&pb, 2);
        size_t bytes = pb.bytes;
        assert_false(kt_pb_reserve(&pb, impossible[i]));
        kt_pb_uint(&pb, 1, 4);
        kt_pb_double(&pb, 1, 4);
        kt_pb_string(&pb, 1, "more");
        kt_pb_end(&pb, kt_pb_begin(&pb, 3));
        kt_pb_end(&pb, message);
        assert_int_equal(pb.bytes, bytes);
        assert_int_equal(kt_pb_status(&pb), KTRACE_ERROR_MEMORY);
        assert_non_null(strstr(ktrace_last_error(), "memory"));
        kt_pb_destroy(&pb);
        assert_int_equal(kt_pb_status(&pb), KTRACE_OK);
    }
    struct kt_pb pb = KT_PB_INIT;
    kt_pb_bytes(&pb, 1, "", SIZE_MAX - 1);
    assert_int_equal(kt_pb_status(&pb), KTRACE_ERROR_MEMORY);
    kt_pb_destroy(&pb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_varints_have_their_shortest_form),
        cmocka_unit_test(test_tags_of_every_length),
        cmocka_unit_test(test_doubles_are_little_endian),
        cmocka_unit_test(test_strings_and_bytes),
        cmocka_unit_test(test_lengths_are_patched),
        cmocka_unit_test(test_clear_keeps_the_memory),
        cmocka_unit_test(test_a_failed_allocation_sticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
