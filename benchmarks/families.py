"""Calls of whole families against PyTorch's, mostly on float32: images, losses, indices, orders, matrices and so on.

``python -m benchmarks.families [TEXT] [--threads N]`` prints the calls whose name has the text in it, the slowest last:
microseconds of either, and their ratio; and the geometric mean of each family. Data are the same numbers on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from benchmarks.many_calls import LIMIT, Call, ManyCalls

__all__ = ["calls"]

TEXT = f"""A call with one thread, as geometric means of families, and how many calls take more than {LIMIT} of
PyTorch's time. Written by `python -m benchmarks.families --write`."""
CLASSES, WORDS = 20, 1000


class Data:
    """What calls work on: drawn from one seed."""

    def __init__(self, torch: Any) -> None:
        torch.manual_seed(0)
        draw, whole = torch.randn, torch.randint
        self.x, self.y = draw(256, 512), draw(256, 512)
        self.positive, self.share, self.mask = self.x.abs() + 0.1, self.x.sigmoid(), self.x > 0
        self.image, self.volume, self.sequence = draw(4, 16, 64, 64), draw(2, 8, 16, 16, 16), draw(8, 32, 256)
        self.grid, self.grid3 = torch.rand(4, 64, 64, 2) * 2 - 1, torch.rand(2, 16, 16, 16, 3) * 2 - 1
        self.chosen, self.places = whole(0, 256, (512,)), whole(0, 256, (256, 512))
        self.line, self.numbers = draw(20000), whole(0, WORDS, (20000,))
        self.edges = torch.sort(draw(1000)).values
        self.square, self.squares = draw(96, 96), draw(16, 24, 24)
        self.definite = self.square @ self.square.mT + 96 * torch.eye(96)
        self.complex = torch.complex(draw(128, 128), draw(128, 128))
        self.filters, self.table, self.words = draw(32, 16, 3, 3), draw(WORDS, 64), whole(0, WORDS, (64, 32))
        self.scores = draw(50, 8, CLASSES).log_softmax(2)
        self.targets = whole(1, CLASSES, (8, 10))
        self.states = torch.zeros(1, 32, 64)


Work = Callable[[Data], object]


def _each(names: Iterable[str], call: Callable[[str], Work], prefix: str = "") -> dict[str, Work]:
    return {f"{prefix}{name}": call(name) for name in names}


def _images(t: Any, f: Any) -> dict[str, Work]:
    return {
        **_each(
            ("bilinear", "nearest", "bicubic"),
            lambda m: lambda d: f.grid_sample(d.image, d.grid, mode=m, align_corners=False),
            "grid_sample ",
        ),
        "grid_sample, volume": lambda d: f.grid_sample(d.volume, d.grid3, align_corners=False),
        **_each(
            ("nearest", "bilinear", "bicubic", "area", "nearest-exact"),
            lambda m: lambda d: f.interpolate(d.image, scale_factor=2, mode=m),
            "interpolate ",
        ),
        "interpolate trilinear": lambda d: f.interpolate(d.volume, scale_factor=2, mode="trilinear"),
        **_each(
            ("reflect", "replicate", "circular", "constant"),
            lambda m: lambda d: f.pad(d.image, (2, 2, 2, 2), mode=m),
            "pad ",
        ),
        "unfold": lambda d: f.unfold(d.image, 3),
        "fold": lambda d: f.fold(d.image.reshape(4, 16, -1).repeat(1, 9, 1)[..., :3844], (64, 64), 3),
        "max_pool1d": lambda d: f.max_pool1d(d.sequence, 2),
        "max_pool2d": lambda d: f.max_pool2d(d.image, 2),
        "max_pool2d with indices": lambda d: f.max_pool2d(d.image, 3, 2, 1, return_indices=True),
        "max_pool3d": lambda d: f.max_pool3d(d.volume, 2),
        "avg_pool2d": lambda d: f.avg_pool2d(d.image, 3, 2, 1),
        "adaptive_avg_pool2d": lambda d: f.adaptive_avg_pool2d(d.image, 7),
        "adaptive_max_pool2d": lambda d: f.adaptive_max_pool2d(d.image, 7),
        "conv1d": lambda d: f.conv1d(d.sequence, d.sequence[:, :, :3]),
        "conv2d": lambda d: f.conv2d(d.image, d.filters),
        "conv2d dilated": lambda d: f.conv2d(d.image, d.filters, dilation=2),
        "conv2d by channel": lambda d: f.conv2d(d.image, d.filters[:16, :1], groups=16),
        "conv_transpose2d": lambda d: f.conv_transpose2d(d.image, d.filters.transpose(0, 1), stride=2),
        "conv3d": lambda d: f.conv3d(d.volume, d.volume[:, :, :3, :3, :3]),
        "batch_norm": lambda d: f.batch_norm(d.image, None, None, training=True),
        "instance_norm": lambda d: f.instance_norm(d.image),
        "group_norm": lambda d: f.group_norm(d.image, 4),
        "local_response_norm": lambda d: f.local_response_norm(d.image, 5),
        "pixel_shuffle": lambda d: f.pixel_shuffle(d.image, 2),
        "channel_shuffle": lambda d: f.channel_shuffle(d.image, 4),
    }


PAIRS = "mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss kl_div hinge_embedding_loss poisson_nll_loss"


def _losses(t: Any, f: Any) -> dict[str, Work]:
    return {
        **_each(PAIRS.split(), lambda name: lambda d: getattr(f, name)(d.x, d.y)),
        "binary_cross_entropy": lambda d: f.binary_cross_entropy(d.share, d.mask.float()),
        "binary_cross_entropy_with_logits": lambda d: f.binary_cross_entropy_with_logits(d.x, d.mask.float()),
        "gaussian_nll_loss": lambda d: f.gaussian_nll_loss(d.x, d.y, d.positive),
        "triplet_margin_loss": lambda d: f.triplet_margin_loss(d.x, d.y, d.positive),
        "multi_margin_loss": lambda d: f.multi_margin_loss(d.x, d.chosen[:256]),
        "multilabel_soft_margin_loss": lambda d: f.multilabel_soft_margin_loss(d.x, d.mask.float()),
        "ctc_loss": lambda d: f.ctc_loss(d.scores, d.targets, t.full((8,), 50), t.full((8,), 10)),
        "cosine_similarity": lambda d: f.cosine_similarity(d.x, d.y),
        "pairwise_distance": lambda d: f.pairwise_distance(d.x, d.y),
        "cdist": lambda d: t.cdist(d.x, d.y),
        "normalize": lambda d: f.normalize(d.x),
        "rms_norm": lambda d: f.rms_norm(d.x, [512]),
        "gumbel_softmax": lambda d: f.gumbel_softmax(d.x),
        "embedding_bag": lambda d: f.embedding_bag(d.words, d.table),
        "one_hot": lambda d: f.one_hot(d.numbers, WORDS),
        "attention": lambda d: f.scaled_dot_product_attention(d.sequence, d.sequence, d.sequence),
    }


def _indices(t: Any, f: Any) -> dict[str, Work]:
    return {
        "gather": lambda d: d.x.gather(0, d.places),
        "scatter": lambda d: d.x.scatter(0, d.places, d.y),
        "scatter_add": lambda d: d.x.scatter_add(0, d.places, d.y),
        **_each(
            ("prod", "mean", "amax"), lambda r: lambda d: d.x.scatter_reduce(0, d.places, d.y, r), "scatter_reduce "
        ),
        "index_add": lambda d: d.x.index_add(0, d.chosen[:256], d.y),
        "index_copy": lambda d: d.x.index_copy(0, t.arange(256), d.y),
        "index_reduce": lambda d: d.x.index_reduce(0, d.chosen[:256], d.y, "amax"),
        "index_put": lambda d: d.x.index_put((d.chosen,), d.y[:1]),
        "index_put, added": lambda d: d.x.index_put((d.chosen,), d.y[0], accumulate=True),
        "x[i]": lambda d: d.x[d.chosen],
        "x[:, i]": lambda d: d.x[:, d.chosen[:200]],
        "x[i, i]": lambda d: d.x[d.chosen, d.chosen],
        "x[mask]": lambda d: d.x[d.mask],
        "masked_scatter": lambda d: d.x.masked_scatter(d.mask, d.y),
        "take": lambda d: d.x.take(d.places),
        "put": lambda d: d.x.put(d.chosen, d.y[0]),
        "take_along_dim": lambda d: t.take_along_dim(d.x, d.places, 0),
        "repeat_interleave": lambda d: d.x.repeat_interleave(3, 1),
        "rot90": lambda d: d.x.rot90(),
        "diag_embed": lambda d: d.x[:, :64].diag_embed(),
        "block_diag": lambda d: t.block_diag(*d.squares),
        "tril_indices": lambda d: t.tril_indices(200, 200),
        "combinations": lambda d: t.combinations(d.line[:100]),
    }


def _orders(t: Any, f: Any) -> dict[str, Work]:
    return {
        "sort": lambda d: t.sort(d.x),
        "sort along 0": lambda d: t.sort(d.x, 0),
        "sort of a line": lambda d: t.sort(d.line),
        "topk": lambda d: t.topk(d.x, 5),
        "kthvalue": lambda d: t.kthvalue(d.x, 7),
        "median": lambda d: d.x.median(1),
        "mode": lambda d: d.places.mode(1),
        "quantile": lambda d: t.quantile(d.x, 0.3, dim=1),
        "unique": lambda d: t.unique(d.numbers),
        "unique along 0": lambda d: t.unique(d.places, dim=0),
        "unique_consecutive": lambda d: t.unique_consecutive(d.numbers),
        "searchsorted": lambda d: t.searchsorted(d.edges, d.line),
        "histc": lambda d: t.histc(d.line, 100),
        "histogram": lambda d: t.histogram(d.line, 100),
        "bincount": lambda d: t.bincount(d.numbers),
        "isin": lambda d: t.isin(d.numbers, d.chosen),
        **_each(
            ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"), lambda name: lambda d: getattr(t, name)(d.x, 1)
        ),
        "diff": lambda d: t.diff(d.x),
        "trapezoid": lambda d: t.trapezoid(d.x),
    }


OF_A_MATRIX = "det inv svd qr eig matrix_exp slogdet pinv lu_factor"


def _matrices(t: Any, f: Any) -> dict[str, Work]:
    linalg = t.linalg
    return {
        **_each(OF_A_MATRIX.split(), lambda name: lambda d: getattr(linalg, name)(d.square)),
        "cholesky": lambda d: linalg.cholesky(d.definite),
        "eigh": lambda d: linalg.eigh(d.definite),
        "solve": lambda d: linalg.solve(d.definite, d.square),
        "lstsq": lambda d: linalg.lstsq(d.definite, d.square),
        "det of a batch": lambda d: linalg.det(d.squares),
        "inv of a batch": lambda d: linalg.inv(d.squares),
        "vector_norm": lambda d: linalg.vector_norm(d.x, dim=1),
        "kron": lambda d: t.kron(d.square[:20, :20], d.square[:20, :20]),
        "einsum": lambda d: t.einsum("bij,bkj->bik", d.sequence, d.sequence),
        "addmm": lambda d: t.addmm(*[d.square] * 3),
        "baddbmm": lambda d: t.baddbmm(*[d.squares] * 3),
        "product of integers": lambda d: d.places @ d.places.mT,
        "product of float64": lambda d: d.x.double() @ d.y.double().mT,
        "complex product": lambda d: d.complex @ d.complex,
        **_each(("fft", "rfft", "fft2"), lambda name: lambda d: getattr(t.fft, name)(d.x)),
        "stft": lambda d: t.stft(d.line, 256, return_complex=True, window=t.hann_window(256)),
        "complex multiplication": lambda d: d.complex * d.complex,
        "angle": lambda d: d.complex.angle(),
        "lstm": lambda d: t.lstm(d.sequence, [d.states, d.states], _gates(t, 4), True, 1, 0.0, False, False, False),
    }


def _gates(t: Any, count: int) -> list[Any]:
    return [t.ones(count * 64, 256), t.ones(count * 64, 64), t.ones(count * 64), t.ones(count * 64)]


SPECIAL = "gammaln digamma erf erfc i0 i0e i1 i1e entr log_ndtr sinc bessel_j0 bessel_j1 bessel_y0 exp2 expm1"
OF_TWO = "logaddexp hypot atan2 fmod remainder nextafter copysign"


def _functions(t: Any, f: Any) -> dict[str, Work]:
    return {
        **_each(SPECIAL.split(), lambda name: lambda d: getattr(t.special, name)(d.positive)),
        **_each(OF_TWO.split(), lambda name: lambda d: getattr(t, name)(d.x, d.positive)),
        "gammainc": lambda d: t.special.gammainc(d.positive, d.positive),
        "polygamma": lambda d: t.polygamma(1, d.positive),
        "erfinv": lambda d: t.erfinv(d.share),
        "nan_to_num": lambda d: d.x.nan_to_num(),
        "frexp": lambda d: t.frexp(d.x),
        "floor_divide of integers": lambda d: d.places // 3,
        "gcd": lambda d: t.gcd(d.places, d.places),
        "isclose": lambda d: t.isclose(d.x, d.y),
        "float_power": lambda d: t.float_power(d.positive, 2),
    }


def _random(t: Any, f: Any) -> dict[str, Work]:
    return {
        "rand": lambda d: t.rand(256, 512),
        "randn": lambda d: t.randn(256, 512),
        "randperm": lambda d: t.randperm(20000),
        "randint": lambda d: t.randint(0, 9, (256, 512)),
        "bernoulli": lambda d: t.bernoulli(d.share),
        "multinomial": lambda d: t.multinomial(d.positive, 5),
        "poisson": lambda d: t.poisson(d.positive),
        "exponential": lambda d: t.empty(256, 512).exponential_(),
        "geometric": lambda d: t.empty(256, 512).geometric_(0.3),
        "gamma": lambda d: t._standard_gamma(d.positive),
        "dropout": lambda d: f.dropout(d.x),
    }


FAMILIES = {
    "images": _images,
    "losses and layers": _losses,
    "indices": _indices,
    "orders": _orders,
    "matrices": _matrices,
    "functions": _functions,
    "random numbers": _random,
}


def calls(torch: Any) -> dict[str, Work]:
    """All calls, by family and name."""
    return {
        f"{family}: {name}": work
        for family, made in FAMILIES.items()
        for name, work in made(torch, torch.nn.functional).items()
    }


def _made(torch: Any) -> Callable[[str], Call]:
    known, data = calls(torch), Data(torch)
    return lambda name: partial(known[name], data)


TABLE = ManyCalls("benchmarks.families", "Families of the CPU's calls", TEXT, "images", tuple(FAMILIES), calls, _made)

if __name__ == "__main__":
    TABLE.main(__doc__.split("\n")[0])
