// How the rows of a matrix are shared out, as the host tells the kernel.
#ifndef ROW_SCALE_TILING_H
#define ROW_SCALE_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(RowScaleTilingData)
  TILING_DATA_FIELD_DEF(uint32_t, rows);
  TILING_DATA_FIELD_DEF(uint32_t, columns);
  TILING_DATA_FIELD_DEF(uint32_t, rowsPerBlock);
  TILING_DATA_FIELD_DEF(float, epsilon);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(RowScale, RowScaleTilingData)
}  // namespace optiling
#endif  // ROW_SCALE_TILING_H
