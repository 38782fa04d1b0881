#include "own_descriptor.h"

#include <errno.h>
#include <unistd.h>

int kt_own_descriptor_take(struct kt_own_descriptor *out, int number)
{
    struct stat status;
    if (number < 0)
        return -1;
    if (fstat(number, &status) < 0) {
        const int error = errno;
        close(number);
        errno = error;
        return -1;
    }
    *out = (struct kt_own_descriptor){number, status.st_dev, status.st_ino};
    return 0;
}

int kt_own_descriptor_is_ours(const struct kt_own_descriptor *descriptor)
{
    struct stat status;
    return descriptor->number >= 0 && fstat(descriptor->number, &status) == 0 && status.st_dev == descriptor->device &&
           status.st_ino == descriptor->inode;
}

void kt_own_descriptor_close(struct kt_own_descriptor *descriptor)
{
    if (kt_own_descriptor_is_ours(descriptor))
        close(descriptor->number);
    descriptor->number = -1;
}
