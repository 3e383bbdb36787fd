/* build_id.c - the identity of this library in cache keys: the build makes it from sources and flags. */
#include "pipeline/pipeline.h"

#include "build_id.h"

const char *pl_build_id(void) {
    return MLC_BUILD_ID;
}
