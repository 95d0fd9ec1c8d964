// A CPU kernel that writes down what it is told.
#include <mindtorch_kernel.h>

int tell_cpu(const float* x, float* out, int64_t n, const mt_context* context) {
  const int64_t told[] = {context->size, context->next, context->device, context->device_index, context->next_device,
                          context->next_device_index, context->commit_and_continue, context->position, context->operations};
  for (int64_t i = 0; i < n; ++i) out[i] = i < 9 ? (float)told[i] : x[i];
  return mt_context_has(context, operations) ? MT_OK : MT_ERROR_SHAPE;
}
