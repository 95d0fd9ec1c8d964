"""The C++ names that a formula of derivatives.yaml may use beside its operator's own: what PyTorch's headers declare.

Operators come from native_functions.yaml and are not listed here.
"""

from __future__ import annotations

__all__ = ["CONSTANTS", "HELPERS", "MEMBERS", "SCOPED", "SEVERAL_RESULTS", "TYPES"]

# torch/csrc/autograd/FunctionsManual.h: functions that return several tensors, or a list ...
_SEVERAL = """
    _cudnn_convolution_backward _euclidean_dist_backward _trilinear_backward atan2_backward
    batchnorm_double_backward block_diag_backward cat_tensors_backward cholesky_solve_backward
    clamp_backward_min_max grid_sampler_2d_double_backward grid_sampler_3d_double_backward
    householder_product_backward index_reduce_backward infinitely_differentiable_native_group_norm_backward
    infinitely_differentiable_native_rms_norm_backward layer_norm_double_backward linalg_eig_jvp
    linalg_lstsq_backward linalg_lu_jvp linalg_qr_jvp linalg_solve_backward linalg_solve_triangular_backward
    linalg_svd_jvp linear_double_backward mkldnn_rnn_layer_differentiable_backward not_implemented_list
    ormqr_backward polar_backward reverse_list reverse_list_symint scatter_reduce_backward slogdet_jvp
    sparse_sampled_addmm_backward stack_tensors_backward triangular_solve_backward
"""
# ... and functions that return one value.
_ONE = """
    _convolution_jvp _cudnn_ctc_loss_backward _fused_dropout_backward _grouped_mm_mat1_backward
    _grouped_mm_mat2_backward _miopen_ctc_loss_backward _nested_from_padded_backward
    _nested_split_with_sizes_backward _to_copy_backward amaxamin_jvp aminmax_backward aminmax_jvp angle_backward
    apply_loss_reduction as_strided_backward as_strided_scatter_backward batch_norm_jvp
    binary_cross_entropy_double_backward binary_cross_entropy_double_backward_grad_output
    binary_cross_entropy_double_backward_target binary_cross_entropy_target_backward
    binary_cross_entropy_with_logits_backward binary_cross_entropy_with_logits_target_backward block_diag_jvp
    cat_jvp cholesky_backward cholesky_inverse_backward cholesky_inverse_jvp cholesky_jvp cholesky_solve_jvp
    chunk_backward_nested clamp_backward clamp_jvp constant_pad_nd_backward convolution_backward_jvp_grad_bias
    convolution_jvp copysign_tensor_self_backward cumprod_jvp cumsum_backward deg2rad_backward
    div_tensor_other_backward div_tensor_self_backward elu_double_backward embedding_dense_double_backward_symint
    error_for_max_pool2d_double_backward evenly_distribute_backward evenly_read_jvp fft_backward fft_c2r_backward
    fft_r2c_backward gather_with_keepdimed_indices gelu_double_backward glu_double_backward
    glu_double_backward_grad_output group_norm_invstd_jvp group_norm_jvp group_norm_mean_jvp handle_r_to_c
    householder_product_jvp huber_loss_double_backward huber_loss_double_backward_grad_output i1_backward
    i1e_backward index_backward infinitely_differentiable_logit_backward infinitely_differentiable_mish_backward
    infinitely_differentiable_native_dropout_backward infinitely_differentiable_silu_backward layer_norm_jvp
    linalg_det_backward linalg_det_jvp linalg_eig_backward linalg_lstsq_residuals_jvp linalg_lstsq_solution_jvp
    linalg_lu_backward linalg_lu_solve_LU linalg_lu_solve_jvp linalg_matrix_exp_differential linalg_qr_backward
    linalg_solve_jvp linalg_solve_triangular_forward_AD linalg_vector_norm_backward linalg_vector_norm_jvp
    log1p_backward log_sigmoid_double_backward logcumsumexp_backward logcumsumexp_jvp logsumexp_backward
    logsumexp_jvp lu_factor_ex_backward lu_factor_ex_jvp lu_unpack_backward masked_fill_backward
    max_pool_double_backward maybe_multiply mean_backward mm_mat1_backward mm_mat1_sparse_backward mm_mat2_backward
    mse_loss_double_backward mul_tensor_backward mvlgamma_backward nansum_backward native_dropout_double_backward
    norm_backward norm_jvp not_implemented permute_backwards pinv_backward pinv_jvp pow_backward
    pow_backward_exponent pow_backward_self prod_backward prod_safe_zeros_backward rad2deg_backward renorm_backward
    renorm_jvp repeat_backward restore_reduced_dims reverse_dim rms_norm_jvp rms_norm_rstd_jvp safe_logsumexp_jvp
    scale_grad_by_count scatter_reduce_jvp sgn_backward sinc_backward slice_backward_wrapper slogdet_backward
    smooth_l1_loss_double_backward soft_margin_loss_double_backward soft_margin_loss_double_backward_grad_output
    softmax_double_backward softplus_double_backward solve_backward_A solve_backward_self solve_jvp
    sparse_constructor_values_backward sparse_mask_backward sparse_sparse_matmul_backward split_backward
    split_with_sizes_backward stack_jvp std_backward std_mean_backward strides_or_error sum_backward svd_backward
    take_backward toNonOptFwGrad toNonOptPrimal toNonOptTensor to_sparse_backward triangular_solve_jvp
    unbind_backward unbind_backward_nested unbind_backward_nested_jagged unsqueeze_multiple unsqueeze_to
    values_backward var_backward var_jvp var_mean_backward warn_backwards wrap_opt_if
"""
# What the code around the formulas has: helpers of saved variables (torch/csrc/autograd/) and c10::fmap.
_SURROUNDING = frozenset({"fmap", "to_args_scalartypes", "to_args_sizes", "to_args_sizes_symint"})
SEVERAL_RESULTS = frozenset(_SEVERAL.split())
HELPERS = SEVERAL_RESULTS | frozenset(_ONE.split()) | _SURROUNDING

TYPES = frozenset(
    {"IntArrayRef", "Scalar", "SymInt", "SymIntArrayRef", "Tensor", "TensorGeometry", "TensorList", "TensorOptions"}
    | {"bool", "double", "float", "int", "int64_t", "size_t"}
)
CONSTANTS = frozenset({"M_E", "M_LN2", "M_LN10", "M_PI", "M_PI_2", "M_SQRT1_2", "M_SQRT2", "nullptr"}) | {
    "kCudnnDoubleBackwardMsg"  # a text, in FunctionsManual.h
}

# Members that are not operators: of Tensor, Scalar, std::optional, lists, Device and NestedTensorImpl.
_MEMBERS = """
    back data defined device dim dtype element_size empty expect_contiguous front get_nested_sizes has_value
    has_storage is_contiguous is_cpu is_cuda is_meta is_mps is_sparse is_xpu isBoolean isComplex isFloatingPoint
    isIntegral layout ndimension nbytes numel options requires_grad scalar_type size sizes suggest_memory_format
    sym_blocksize sym_numel sym_size sym_sizes sym_storage_offset sym_stride sym_strides to toComplexDouble toDouble
    toFloat toInt toLong toSymInt type unsafeGetTensorImpl value value_or
"""
MEMBERS = frozenset(_MEMBERS.split())

# What is behind a namespace or a class, by the text before the last `::`. The names in `at` are operators too.
SCOPED: dict[str, frozenset[str]] = {
    "at": frozenset(
        {"ArrayRef", "IntArrayRef", "OptionalArrayRef", "Scalar", "SymIntArrayRef", "Tensor", "sum_to", "scalar_tensor"}
    ),
    "at::native": frozenset({"get_nested_tensor_impl"}),
    "at::Reduction": frozenset({"Mean", "None", "Sum"}),
    "c10": frozenset({"SymInt", "SymIntArrayRef", "IntArrayRef", "Scalar"} | {"kJagged", "kSparse", "kStrided"}),
    "c10::MemoryFormat": frozenset({"ChannelsLast", "ChannelsLast3d", "Contiguous", "Preserve"}),
    "GradMode": frozenset({"is_enabled"}),
    "std": frozenset(
        {"abs", "array", "exp", "get", "log", "make_tuple", "max", "min", "move", "nullopt", "optional", "pow", "sqrt"}
        | {"string_view", "tuple", "vector"}
    ),
}
