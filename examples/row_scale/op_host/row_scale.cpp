// The operator's host side: its definition, and what CANN's runtime asks before a launch.
#include "row_scale_tiling.h"

#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
  const auto& shape = context->GetInputShape(0)->GetStorageShape();
  const uint32_t columns = shape.GetDim(shape.GetDimNum() - 1);
  const uint32_t rows = columns == 0 ? 0 : shape.GetShapeSize() / columns;
  const auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
  const uint32_t cores = platform.GetCoreNumAiv();
  const uint32_t rowsPerBlock = (rows + cores - 1) / cores;

  RowScaleTilingData tiling;
  tiling.set_rows(rows);
  tiling.set_columns(columns);
  tiling.set_rowsPerBlock(rowsPerBlock);
  tiling.set_epsilon(*context->GetAttrs()->GetFloat(0));
  tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
  context->SetBlockDim((rows + rowsPerBlock - 1) / rowsPerBlock);
  context->SetTilingKey(1);
  context->GetWorkspaceSizes(1)[0] = 0;
  return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
  *context->GetOutputShape(0) = *context->GetInputShape(0);
  return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class RowScale : public OpDef {
 public:
  explicit RowScale(const char* name) : OpDef(name) {
    this->Input("x")
        .ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
        .Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->Input("weight")
        .ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
        .Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->Output("y")
        .ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
        .Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->Attr("epsilon").AttrType(OPTIONAL).Float(1e-6);
    this->SetInferShape(ge::InferShape);
    this->AICore().SetTiling(optiling::TilingFunc);
    this->AICore().AddConfig("ascend910b");
  }
};
OP_ADD(RowScale);
}  // namespace ops
