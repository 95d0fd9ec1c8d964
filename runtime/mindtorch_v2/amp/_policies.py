"""What autocast does to each built-in operator: PyTorch's lists, for operators that exist here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import OpOverload, Tensor, dtypes
from .._ops import ops
from ..library._registrations import Kernel, push_beneath
from ._casting import autocast_key, cast, eligible

__all__ = ["install"]

# For operators that exist here, the lists of the two differ.
_CONVOLUTIONS = "_convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d"
_LOWER = f"addbmm addmm baddbmm bmm {_CONVOLUTIONS} linalg_vecdot linear matmul mm prelu scaled_dot_product_attention"
_ACCELERATOR_LOWER = (
    f"{_LOWER} convolution addmv addr chain_matmul einsum linalg_multi_dot mv "
    "gru_cell lstm_cell rnn_relu_cell rnn_tanh_cell"
)
_ACCELERATOR_FLOAT32 = (
    "acos asin cdist cosh cumprod cumsum dist erfinv exp expm1 group_norm kl_div l1_loss layer_norm linalg_vector_norm "
    "log log10 log1p log2 log_softmax logsumexp mse_loss native_layer_norm nll_loss nll_loss2d norm pow prod "
    "reciprocal renorm rsqrt sinh smooth_l1_loss softmax softplus sum tan"
)
_ACCELERATOR_WIDEST = "addcdiv addcmul atan2 bilinear cross dot grid_sampler index_put scatter_add tensordot vdot"
_CPU_FLOAT32 = (
    "avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits cdist cross_entropy_loss huber_loss kl_div "
    "l1_loss mse_loss nanquantile nll_loss nll_loss2d polar prod quantile smooth_l1_loss trace view_as_complex"
)
_CPU_FLOAT32_IMAGES = (
    "adaptive_avg_pool3d adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d grid_sampler grid_sampler_2d "
    "grid_sampler_3d _grid_sampler_2d_cpu_fallback max_pool3d max_unpool2d max_unpool3d reflection_pad1d "
    "reflection_pad2d replication_pad1d replication_pad2d replication_pad3d"
)
_ACCELERATOR_FLOAT32_IMAGES = (
    "_upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d "
    "_upsample_nearest_exact3d upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d "
    "upsample_nearest2d upsample_nearest3d upsample_trilinear3d"
)
_LOSSES = (
    "cosine_embedding_loss hinge_embedding_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss "
    "poisson_nll_loss soft_margin_loss triplet_margin_loss"
)
_ACCELERATOR_FLOAT32_REST = (
    f"{_LOSSES} binary_cross_entropy_with_logits cosine_similarity huber_loss linalg_matrix_norm nuclear_norm pdist "
    "rms_norm"
)
_TRANSFORMS = "fft hfft ifft ihfft irfft rfft fft2 ifft2 irfft2 rfft2 fftn ifftn irfftn rfftn"
_CPU_FLOAT32_MATRICES = (
    "_lu_with_info cholesky cholesky_inverse cholesky_solve geqrf inverse linalg_cholesky linalg_cholesky_ex "
    "linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv "
    "linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals linalg_tensorinv "
    "linalg_tensorsolve lu_solve orgqr ormqr pinverse qr svd triangular_solve"
)
_CPU_FLOAT32_REST = " ".join(
    (
        f"{_LOSSES} {_CPU_FLOAT32_MATRICES} ctc_loss multilabel_margin_loss_forward stft",
        *(f"fft_{name}" for name in _TRANSFORMS.split()),
    )
)
_REFUSED = "binary_cross_entropy"  # its gradient leaves the range of float16
# device type -> operators in the lower precision, in float32, in the widest type of their arguments, and as they are,
# which would run lower for what they are made of; and operators that are refused
_LISTS = {
    "cpu": (
        f"{_LOWER} _addmm_activation _native_multi_head_attention mkldnn_rnn_layer",
        f"{_CPU_FLOAT32} {_CPU_FLOAT32_IMAGES} {_CPU_FLOAT32_REST}",
        "cat index_copy stack",
        "dot mv",
        "",
    ),
}
_ACCELERATORS = (
    _ACCELERATOR_LOWER,
    f"{_ACCELERATOR_FLOAT32} {_ACCELERATOR_FLOAT32_IMAGES} {_ACCELERATOR_FLOAT32_REST}",
    _ACCELERATOR_WIDEST,
    "",
    _REFUSED,
)  # of every other

Policy = Callable[[Any, str], Any]  # (arguments, device type) -> arguments

_installed: set[str] = set()  # device types


def install(device_type: str, lower: Policy) -> None:
    """Registers the kernels at a device type's Autocast key, once; what others registered there stays on top.

    ``lower`` is the policy of operators that run in the lower precision.
    """
    if device_type in _installed:
        return
    _installed.add(device_type)
    key = autocast_key(device_type)
    policies: tuple[Policy, ...] = (
        lower,
        lambda args, device: cast(args, device, dtypes["float32"]),
        _to_widest,
        lambda args, device: args,
        _refuse,
    )
    for names, policy in zip(_LISTS.get(device_type, _ACCELERATORS), policies, strict=True):
        for name in names.split():
            packet = getattr(ops.aten, name, None)  # one that is not defined yet is, as nothing would cast it later
            for overload in packet.overloads() if packet is not None else ():
                op: OpOverload = getattr(packet, overload)
                push_beneath(op, key, Kernel(_kernel(op, policy, device_type), __name__))


def _kernel(op: OpOverload, policy: Policy, device_type: str) -> Callable[..., Any]:
    mask = _core.key_mask(autocast_key(device_type))

    def kernel(*args: Any, **kwargs: Any) -> Any:
        included, excluded = _core.thread_keys()
        _core.set_thread_keys_(included, excluded | mask)
        try:
            new_args, new_kwargs = policy((args, kwargs), device_type)
            return op(*new_args, **new_kwargs)
        finally:
            _core.set_thread_keys_(included, excluded)

    return kernel


def _refuse(value: Any, device_type: str) -> Any:
    raise RuntimeError(
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast: a sigmoid before them "
        "leaves the range of the lower precision. Take torch.nn.functional.binary_cross_entropy_with_logits or "
        "torch.nn.BCEWithLogitsLoss, which are safe, in place of both"
    )


def _to_widest(value: Any, device_type: str) -> Any:
    widest = None
    for tensor in _eligible(value, device_type):
        widest = tensor.dtype if widest is None else _core.promote_types(widest, tensor.dtype)
    return value if widest is None else cast(value, device_type, widest)


def _eligible(value: Any, device_type: str) -> list[Tensor]:
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in _eligible(item, device_type)]
    if isinstance(value, dict):
        return _eligible(list(value.values()), device_type)
    return [value] if eligible(value, device_type) else []
