/* ktrace/record.h - the wire format between a traced kernel and libktrace.
 *
 * Everything that device code writes and the host reads is declared here, once, for C11, C++17, CUDA, HIP and OpenCL C.
 * All fields are little-endian and naturally aligned. docs/format.md is the normative description.
 *
 *   site     static descriptor of one annotation, in the module's constant bank (NVIDIA: 16 bytes, id = its offset there)
 *   control  one block in each module, written by the host: where to record, how much, what to filter
 *   header   one a wave: who recorded, where, when, and how many slots every ring received
 *   slot     8 bytes of a ring: an event, or the 64 bits that follow it (a payload)
 *
 * Who writes what when: the host fills the control block at begin; a wave writes its header's first half at
 * KTRACE_KERNEL, slots as it runs, and the end anchor and its lanes' counts when the handle's scope ends.
 */
#ifndef KTRACE_RECORD_H
#define KTRACE_RECORD_H

#if defined(__OPENCL_C_VERSION__)
typedef uchar ktrace_u8;
typedef ushort ktrace_u16;
typedef uint ktrace_u32;
typedef ulong ktrace_u64;
#elif defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
typedef unsigned char ktrace_u8;
typedef unsigned short ktrace_u16;
typedef unsigned int ktrace_u32;
typedef unsigned long long ktrace_u64;
#elif defined(__AMDGCN__) && !defined(__HIP__) /* C for a device has no C library */
typedef __UINT8_TYPE__ ktrace_u8;
typedef __UINT16_TYPE__ ktrace_u16;
typedef __UINT32_TYPE__ ktrace_u32;
typedef __UINT64_TYPE__ ktrace_u64;
#else
#include <stddef.h>
#include <stdint.h>
typedef uint8_t ktrace_u8;
typedef uint16_t ktrace_u16;
typedef uint32_t ktrace_u32;
typedef uint64_t ktrace_u64;
#endif

/* Bumped when a struct below changes meaning. The host refuses a module with another version. Version 1 had no halves: waves
 * and sites of both versions are read alike, from files. */
#define KTRACE_WIRE_VERSION 2

#define KTRACE_SITE_MAGIC 0x544Bu        /* "KT" */
#define KTRACE_CONTROL_MAGIC 0x5443544Bu /* "KTCT" */
#define KTRACE_WAVE_MAGIC 0x5657544Bu    /* "KTWV" */

#define KTRACE_SLOT_BYTES 8u
#define KTRACE_MAX_LANES 32u /* rings of one wave on NVIDIA; a scalar target has one */
#define KTRACE_MAX_PARTITIONS 256u
#define KTRACE_COUNTER_STRIDE_BYTES 128u
#define KTRACE_SINK_OFFSET_BYTES 128u /* in struct ktrace_dropped */
/* On amdgcn a ring is followed by this much: its first slot takes the payload of an event in the ring's last slot, so that
 * an event is one store; what a wave must not record goes behind that. */
#define KTRACE_RING_OVERHANG_BYTES 64u

enum ktrace_arch { KTRACE_ARCH_NVIDIA = 1, KTRACE_ARCH_AMDGCN = 2, KTRACE_ARCH_HOST = 3 };

/* What an event means. The values are on the wire: never renumber.
 * A STOP and a NEXT name the range they close by the low 16 bits of its token, in place of the sequence number (no slot of
 * their own for it). On NVIDIA a token is its start's clock | 1, so these bits are never 0; a STOP names that of the first
 * active lane that holds a token (without one nothing is stored), a NEXT that of the first active lane, 0 when that is
 * inactive. On amdgcn, where two starts can share a clock, a token is 2 * its start's slot index + 1; a STOP and a NEXT name
 * the largest of the active lanes: the latest start. */
enum ktrace_kind {
    KTRACE_KIND_KERNEL = 1, /* names a kernel; never an event */
    KTRACE_KIND_MARK = 2,   /* a point in time */
    KTRACE_KIND_PUSH = 3,   /* opens a stack range (also the begin of a scoped range) */
    KTRACE_KIND_POP = 4,    /* closes the innermost stack range; its site has no name */
    KTRACE_KIND_START = 5,  /* opens a token range */
    KTRACE_KIND_STOP = 6,   /* closes a token range; its site has no name */
    KTRACE_KIND_NEXT = 7    /* closes a token range and opens another at the same instant: a stop and a start in one */
};

/* Type of a payload. BOOL, INT32, UINT32 and FLOAT32 fill the low 32 bits of their slot and leave the upper ones undefined:
 * the reader extends them. Shorter integers arrive as 32 bits, half and bfloat16 as FLOAT32. */
enum ktrace_payload_type {
    KTRACE_PAYLOAD_NONE = 0,
    KTRACE_PAYLOAD_BOOL = 1,
    KTRACE_PAYLOAD_INT64 = 2,
    KTRACE_PAYLOAD_UINT64 = 3,
    KTRACE_PAYLOAD_FLOAT32 = 4,
    KTRACE_PAYLOAD_FLOAT64 = 5,
    KTRACE_PAYLOAD_INT32 = 6,
    KTRACE_PAYLOAD_UINT32 = 7
};

/* One annotation in the source. `text` is a device address of "name\0file\0"; on amdgcn its low 32 bits are the distance
 * (signed) of that text from the descriptor, its high 32 bits the distance of the event's code from its kernel's entry. */
struct ktrace_site {
    ktrace_u16 magic;        /* KTRACE_SITE_MAGIC */
    ktrace_u8 kind;          /* enum ktrace_kind */
    ktrace_u8 payload_type;  /* enum ktrace_payload_type */
    ktrace_u32 version_line; /* KTRACE_WIRE_VERSION << 24 | line */
    ktrace_u64 text;
};

/* One event. Never all zero: a ring's sequence starts at 1, and memory is cleared before it is used. */
struct ktrace_slot {
    ktrace_u32 clock_ticks; /* low 32 bits of the wave's clock */
    ktrace_u16 site; /* byte offset of the descriptor in the constant bank; KTRACE_SITE_WIDE: see below. amdgcn: index
                               of the descriptor among its translation unit's */
    ktrace_u16 sequence; /* low 16 bits of the slot's index in this ring; the index modulo the ring size is its place.
                               STOP and NEXT: low 16 bits of the token */
};

/* An id that says: the next slot holds the 64-bit device address of the descriptor (modules too large for the constant
 * bank, compiled with KTRACE_SITES_IN_GLOBAL). It comes before the payload. */
#define KTRACE_SITE_WIDE 0xFFFFu

/* Which waves record. Evaluated once a wave, before it claims a region. Unused bounds hold 0 and 0xFFFFFFFF. */
struct ktrace_filter {
    ktrace_u32 block_first[3]; /* inclusive workgroup coordinates x, y, z */
    ktrace_u32 block_last[3];
    ktrace_u32 place_first; /* inclusive: SM id on NVIDIA, XCC id on amdgcn */
    ktrace_u32 place_last;
    ktrace_u32 workgroup_step; /* 1: all; n: workgroups whose linear index (mod 2^32) is a multiple of n */
    ktrace_u32 wave_mask_low;  /* bit i: wave i of a workgroup records, i < 32; ... */
    ktrace_u32 wave_mask_high; /* ... 32 <= i < 64; waves from 64 on follow bit 63 */
    ktrace_u32 reserved;
};

enum ktrace_mode { KTRACE_MODE_DORMANT = 0, KTRACE_MODE_EVERY_WAVE = 1, KTRACE_MODE_FILTER = 2 };

/* The module's control block. The first 16 bytes are the module's own statement of what it was compiled with; the host
 * writes the rest. Aligned to 128 bytes: what a wave needs to start lies in its first 80, the filter behind. */
struct ktrace_control {
    ktrace_u32 magic; /* KTRACE_CONTROL_MAGIC */
    ktrace_u16 version;
    ktrace_u16 bytes; /* sizeof(struct ktrace_control) */
    ktrace_u32 reserved0[2];

    ktrace_u32 mode;            /* enum ktrace_mode */
    ktrace_u32 module;          /* the host's number for this module, copied to every header */
    ktrace_u64 headers;         /* device address of struct ktrace_wave_header[regions] */
    ktrace_u64 main_rings;      /* device address of regions rings for lane 0, each aligned to its size */
    ktrace_u64 lane_rings;      /* device address of regions * 31 rings for lanes 1 to 31, each aligned to its size */
    ktrace_u64 counters;        /* device address of struct ktrace_counters, then struct ktrace_dropped for each half */
    ktrace_u32 main_ring_bytes; /* power of two, at least 8 */
    ktrace_u32 lane_ring_bytes; /* power of two, at least 8 */
    ktrace_u32 partitions;      /* power of two, at most KTRACE_MAX_PARTITIONS */
    ktrace_u32 regions_per_partition; /* of one half; 0 as long as the module is dormant, so that a wave which sees the
                                         block while it is being written is dormant, too */
    struct ktrace_filter filter;
};

/* The control block of an amdgcn module: `bytes` of the base is the size of all this. */
struct ktrace_control_amdgcn {
    struct ktrace_control base;
    ktrace_u64 sites_begin; /* device addresses of the module's descriptors, of all its translation units */
    ktrace_u64 sites_end;
};

/* Which partition a wave asks first follows from an index that counts a grid's waves and moves on with time or launches: (index +
 * shift) mod partitions, where index / partitions is the lap and the shift is lap * KTRACE_SPREAD mod 2^32, scaled to the number of
 * partitions. So each lap of consecutive waves fills all partitions alike, and, by 2^32 over the golden ratio, so do about those
 * whose indices are any distance apart, as filters leave them. */
#define KTRACE_SPREAD 0x9E3779B1u

/* The buffer has two halves, so that waves record into one while the host reads the other. A claim says which: its top bit is
 * the half that counters are in, and the host exchanges them when it changes halves. */
#define KTRACE_CLAIM_HALF ((ktrace_u64)1 << 63)

/* One 128-byte line a partition, then one for all of them. 64 bits: they never wrap. Partition p's i-th claim in half h owns
 * region (h * regions_per_partition + i) * partitions + p, so that used regions lie together. */
struct ktrace_counter_line {
    ktrace_u64 claims;   /* partition lines: KTRACE_CLAIM_HALF or 0, and claims so far, those past the end included */
    ktrace_u64 full;     /* last line: 1 + the half in which a wave found every partition full */
    ktrace_u64 filtered; /* partition lines: waves that the filter turned away */
    ktrace_u64 reserved[13];
};
struct ktrace_counters {
    struct ktrace_counter_line partition[KTRACE_MAX_PARTITIONS];
    struct ktrace_counter_line all;
};

/* Directly behind the counters, for each half: what is known of the waves that found no region, of the half that their
 * claim said. They count as all waves do, so that an overflow can name what would have held them. On NVIDIA a half has
 * KTRACE_DROPPED_SHARES of these, each for some SMs, as thousands of waves that count and store in one place wait for
 * each other. Not exchanged: the host reads it once these waves have ended. */
#define KTRACE_DROPPED_SHARES 64u /* power of two; amdgcn: 1 */
struct ktrace_dropped {
    ktrace_u64 waves;
    ktrace_u32 most_count_bytes[2]; /* the largest that a final_count_bytes would have been: of lane 0, of all others */
    ktrace_u64 reserved[14];
    struct ktrace_slot sink[KTRACE_MAX_LANES]; /* NVIDIA: where their lanes' events go, each on top of the last */
};

/* One a wave. `final_count_bytes[lane]` is 8 * (slots recorded + 1) once that lane left the handle's scope, else 0. */
struct ktrace_wave_header {
    ktrace_u32 magic; /* KTRACE_WAVE_MAGIC */
    ktrace_u16 version;
    ktrace_u8 arch;       /* enum ktrace_arch */
    ktrace_u8 lane_count; /* lanes present when the wave started */
    ktrace_u32 module;
    ktrace_u32
        control_offset; /* of this module's control block in its constant bank: anchors the site ids. amdgcn: index of
                                  the translation unit's first descriptor among the module's */
    ktrace_u64 kernel_site; /* id as in a slot, or the descriptor's address under KTRACE_SITES_IN_GLOBAL */
    ktrace_u64 grid_id;     /* %gridid: unique for a launch; repeats in every replay of one graph node. amdgcn: the HSA
                                  dispatch id, unique in its queue */
    ktrace_u32 grid[3];     /* workgroups; amdgcn: workitems, of which the host makes workgroups */
    ktrace_u32 workgroup[3];
    ktrace_u16 block[3]; /* threads */
    ktrace_u16 wave;     /* index within the workgroup */
    ktrace_u64 start_clock_ticks;
    ktrace_u64
        start_wall_ns; /* amdgcn: 10 * start_clock_ticks, which is the wall clock. NVIDIA: read between two clock reads whose middle is start_clock_ticks */
    ktrace_u64 end_clock_ticks;
    ktrace_u64 end_wall_ns;   /* 0: the wave never left the handle's scope */
    ktrace_u32 place;         /* SM id; amdgcn: XCC_ID << 16 | bits 14:8 of HW_ID (SE 14:13, SH 12, CU 11:8) */
    ktrace_u32 place_count;   /* %nsmid; amdgcn: 0 */
    ktrace_u32 hardware_slot; /* %warpid when it started; amdgcn: bits 7:0 of HW_ID (pipe 7:6, SIMD 5:4, wave 3:0) */
    ktrace_u32 cluster_rank;  /* rank of the workgroup in its cluster, 0 where there is none */
    /* ticks between the two clock reads around each wall clock read: how far the anchor can be trusted */
    ktrace_u32 start_gap_ticks, end_gap_ticks;
    ktrace_u64 queue; /* amdgcn: address of the HSA queue; NVIDIA: 0 */
    ktrace_u32 final_count_bytes[KTRACE_MAX_LANES];
};

#if defined(__cplusplus)
#define KTRACE_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define KTRACE_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
KTRACE_STATIC_ASSERT(sizeof(struct ktrace_site) == 16, "ktrace_site is 16 bytes on the wire");
KTRACE_STATIC_ASSERT(sizeof(struct ktrace_slot) == 8, "ktrace_slot is 8 bytes on the wire");
KTRACE_STATIC_ASSERT(sizeof(struct ktrace_filter) == 48, "ktrace_filter is 48 bytes on the wire");
KTRACE_STATIC_ASSERT(sizeof(struct ktrace_control) == 120, "ktrace_control is 120 bytes on the wire");
KTRACE_STATIC_ASSERT(sizeof(struct ktrace_control_amdgcn) == 136, "ktrace_control_amdgcn is 136 bytes on the wire");
KTRACE_STATIC_ASSERT(sizeof(struct ktrace_counter_line) == KTRACE_COUNTER_STRIDE_BYTES, "a counter has its own line");
KTRACE_STATIC_ASSERT(sizeof(struct ktrace_dropped) ==
                         KTRACE_SINK_OFFSET_BYTES + KTRACE_MAX_LANES * sizeof(struct ktrace_slot),
                     "the sink is the last of ktrace_dropped");
KTRACE_STATIC_ASSERT(sizeof(struct ktrace_wave_header) == 256, "ktrace_wave_header is 256 bytes on the wire");

#endif
