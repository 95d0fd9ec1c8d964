/* Compiled as C, so that the public headers stay usable from it. */
#include "acl/acl.h"
#include "mtsim.h"

int headers_compile_as_c(void) { return ACL_SUCCESS; }
