// A name that kernels include; what it declares comes with all the rest.
#pragma once

#include "../../kernel_operator.h"
