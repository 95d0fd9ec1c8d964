"""Built-in operators that refuse a call, as PyTorch does, by another class of error: each with the reason."""

from __future__ import annotations

__all__ = ["BY_REASON"]

# A dtype without a kernel is NotImplementedError there, which is a RuntimeError; here it is a RuntimeError of a number
# that the dtype does not hold, of a result that does not fit, or of the dtype itself.
_DTYPE = """
    bincount bincount.out bucketize.Scalar bucketize.Tensor celu_ cumprod.out elu_ hardsigmoid_ hardswish_
    log_sigmoid log_sigmoid.out mish_ nanmean.out nansum.out repeat_interleave.Tensor
    repeat_interleave.Tensor_out searchsorted.Tensor searchsorted.Tensor_out selu_ softshrink
    special_chebyshev_polynomial_t.n_scalar special_chebyshev_polynomial_t.x_scalar
    special_chebyshev_polynomial_u.n_scalar special_chebyshev_polynomial_u.x_scalar
    special_chebyshev_polynomial_u.x_scalar_out special_chebyshev_polynomial_v.n_scalar
    special_chebyshev_polynomial_v.x_scalar special_chebyshev_polynomial_w.n_scalar
    special_chebyshev_polynomial_w.x_scalar special_hermite_polynomial_h.n_scalar
    special_hermite_polynomial_h.n_scalar_out special_hermite_polynomial_h.x_scalar
    special_hermite_polynomial_he.n_scalar special_hermite_polynomial_he.n_scalar_out
    special_hermite_polynomial_he.x_scalar special_hermite_polynomial_he.x_scalar_out
    special_laguerre_polynomial_l.n_scalar special_laguerre_polynomial_l.n_scalar_out
    special_laguerre_polynomial_l.x_scalar special_laguerre_polynomial_l.x_scalar_out
    special_legendre_polynomial_p.n_scalar special_legendre_polynomial_p.x_scalar
    special_shifted_chebyshev_polynomial_t.n_scalar special_shifted_chebyshev_polynomial_t.x_scalar
    special_shifted_chebyshev_polynomial_u.n_scalar special_shifted_chebyshev_polynomial_u.x_scalar
    special_shifted_chebyshev_polynomial_u.x_scalar_out special_shifted_chebyshev_polynomial_v.n_scalar
    special_shifted_chebyshev_polynomial_v.x_scalar_out special_shifted_chebyshev_polynomial_w.n_scalar
    special_shifted_chebyshev_polynomial_w.x_scalar special_xlog1py.other_scalar special_xlog1py.self_scalar
    special_zeta.other_scalar special_zeta.self_scalar unique_consecutive unique_dim
"""
# Of the faults of a call, such as a dimension and a dtype, or a dtype and `out`, another one is told first.
_ORDER = """
    _fused_rms_norm _pdist_forward _pdist_forward.out _scaled_dot_product_attention_math
    _native_batch_norm_legit _native_batch_norm_legit.no_stats _native_batch_norm_legit.no_stats_out
    _native_batch_norm_legit.out _native_batch_norm_legit_no_training _native_batch_norm_legit_no_training.out
    batch_norm binary_cross_entropy_with_logits embedding_renorm_ group_norm instance_norm native_batch_norm
    native_batch_norm.out native_batch_norm_backward native_group_norm_backward
    argsort column_stack.out cummax.out cummaxmin_backward cummin cummin.out dstack.out flip.out hstack.out
    index_fill.int_Scalar index_fill_.int_Tensor linalg_vecdot logcumsumexp.out mode nanmedian.dim narrow_copy
    narrow_copy.out put put_ roll.out rot90 rot90.out row_stack.out scatter.value scatter_.value take.out
    unfold_backward vstack.out
"""
BY_REASON = {"of dtypes without a kernel": _DTYPE.split(), "of several faults": _ORDER.split()}
