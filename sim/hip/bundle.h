/* bundle.h - which code object to load of what a program has: a plain one, or a bundle of several targets'. */
#ifndef SIM_BUNDLE_H
#define SIM_BUNDLE_H

#include "runtime.h"

/* Length of what HIP's interface hands over without one: an ELF file or an offload bundle. An error for anything else. */
hipError_t sim_image_bytes(size_t *bytes, const void *image);
/* The code object for the device within image[0..bytes). */
hipError_t sim_image_select(const void **object, size_t *object_bytes, const void *image, size_t bytes,
                            const struct sim_device *device);
/* "gfx942:sramecc+:xnack-", as properties and bundles have it. */
const char *sim_device_target(const struct sim_device *device);

#endif
