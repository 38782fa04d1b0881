/* cache_room.h - the disk cache's size. */
#ifndef KT_PROGRAM_CACHE_ROOM_H
#define KT_PROGRAM_CACHE_ROOM_H

#include <stdint.h>

#define KT_CACHE_SUFFIX ".ktrace-program"
#define KT_CACHE_TEMPORARY ".ktrace-program-" /* and six characters */

/* Removes programs until the others take no more than `limit_bytes`: those that were used longest ago first. And what
 * processes that died left half written an hour ago. Files of other names are not ours. Other processes may do the same. */
void kt_cache_make_room(const char *directory, uint64_t limit_bytes);

#endif
