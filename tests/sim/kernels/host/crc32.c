#include "check.h"

void check_crc32(void **state)
{
    (void)state;
    enum { RECORDS = 130, RECORD_BYTES = 37 };
    uint8_t bytes[RECORDS][RECORD_BYTES];
    uint32_t table[256], crcs[RECORDS], expected[RECORDS], record_bytes = RECORD_BYTES, records = RECORDS;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] & 1 ? 0xedb88320 ^ table[i] >> 1 : table[i] >> 1;
    }
    random_fill(bytes, sizeof bytes, 29);
    for (int r = 0; r < RECORDS; r++) { /* bit by bit, without the table */
        uint32_t crc = ~0u;
        for (int bit = 0; bit < 8 * RECORD_BYTES; bit++) {
            uint32_t in = (bytes[r][bit / 8] >> bit % 8 ^ crc) & 1;
            crc = in ? 0xedb88320 ^ crc >> 1 : crc >> 1;
        }
        expected[r] = ~crc;
    }
    device_set_variable("crc32_table", table, sizeof table);
    void *d_crcs = device_zeros(sizeof crcs), *d_bytes = device_copy(bytes, sizeof bytes);
    LAUNCH("crc32", SHAPE_1D(3, 64), &d_crcs, &d_bytes, &record_bytes, &records);
    device_read(crcs, d_crcs, sizeof crcs);
    check_equal("CRCs", crcs, expected, RECORDS, 4);
}
