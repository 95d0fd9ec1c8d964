// The AscendC device API for the host: an ordinary AscendC kernel compiles unmodified with g++ -std=c++20 and
// its blocks run on the simulated NPU. Written from the API's public documentation; one idea a file in impl/.
#pragma once

#include "impl/types.h"

#include "impl/core.h"
#include "impl/tensor.h"

#include "impl/queue.h"
#include "impl/pipe.h"

#include "impl/cast.h"
#include "impl/compare.h"
#include "impl/compare_repeat.h"
#include "impl/copy.h"
#include "impl/cube.h"
#include "impl/enhanced_copy.h"
#include "impl/fused_cast.h"
#include "impl/gather.h"
#include "impl/image.h"
#include "impl/mask.h"
#include "impl/math.h"
#include "impl/matmul.h"
#include "impl/operators.h"
#include "impl/pointers.h"
#include "impl/raw.h"
#include "impl/reduce.h"
#include "impl/reduce_repeat.h"
#include "impl/rows.h"
#include "impl/scalar.h"
#include "impl/scan.h"
#include "impl/sort.h"
#include "impl/sync.h"
#include "impl/system.h"
#include "impl/tiling.h"
#include "impl/transpose.h"
#include "impl/vector.h"
