/* own_descriptor.h - descriptors of the library in a process that is not ours: a program may close what it does not know, and have a file
 * of its own under the same number. */
#ifndef KT_OWN_DESCRIPTOR_H
#define KT_OWN_DESCRIPTOR_H

#include <sys/stat.h>

/* Of a file, a socket or a pipe: these have an inode each. */
struct kt_own_descriptor {
    int number; /* -1: there is none */
    dev_t device;
    ino_t inode;
};
#define KT_NO_DESCRIPTOR \
    { \
        -1, 0, 0 \
    }

/* Takes over `number`, which may be -1 where opening it failed. 0, or -1 with errno. */
int kt_own_descriptor_take(struct kt_own_descriptor *out, int number);
/* Whether the number is still that of what was taken. Ask before each use. */
int kt_own_descriptor_is_ours(const struct kt_own_descriptor *descriptor);
void kt_own_descriptor_close(struct kt_own_descriptor *descriptor);

#endif
