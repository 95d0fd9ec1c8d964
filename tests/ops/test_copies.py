"""Copies between orders in memory, of every size of element, beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

DTYPES = ("bool", "uint8", "int16", "float32", "int64", "complex64", "complex128")
# About the sides of the squares that are turned at once: 4 to 64 elements.
SIDES = (2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130)


def matrix(dtype: str, rows: int, columns: int) -> Any:
    values = np.random.default_rng(rows * 1000 + columns).integers(0, 256, (rows, columns))
    return (values % 2 if dtype == "bool" else values).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_matrix_is_turned(dtype: str) -> None:
    for rows in SIDES:
        for columns in SIDES:
            x = matrix(dtype, rows, columns)
            np.testing.assert_array_equal(torch.from_numpy(x).t().contiguous().numpy(), x.T)


@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_of_matrices_are_turned_into_parts(dtype: str) -> None:
    x = matrix(dtype, 150, 140)
    for top, left, rows, columns in ((0, 0, 150, 140), (1, 3, 70, 66), (9, 2, 33, 129), (0, 7, 64, 64)):
        out = np.zeros((200, 190), dtype)
        wanted = out.copy()
        part = (slice(top, top + rows), slice(left, left + columns))
        wanted[5 : 5 + columns, 11 : 11 + rows] = x[part].T
        torch.from_numpy(out)[5 : 5 + columns, 11 : 11 + rows].copy_(torch.from_numpy(x)[part].t())
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_runs_of_every_length(dtype: str) -> None:
    for length in (*SIDES, 260, 1100):
        x = matrix(dtype, 30, length).reshape(5, 6, length)
        ours = torch.from_numpy(x)
        np.testing.assert_array_equal(ours.transpose(0, 1).contiguous().numpy(), x.transpose(1, 0, 2))
        np.testing.assert_array_equal(ours[:, ::2, 1:].contiguous().numpy(), x[:, ::2, 1:])
        np.testing.assert_array_equal(
            ours[:1].expand(5, 6, length).contiguous().numpy(), np.broadcast_to(x[:1], x.shape)
        )
        out = np.zeros((7, 6, length + 3), dtype)
        wanted = out.copy()
        wanted[1:6, :, 2:-1] = x
        torch.from_numpy(out)[1:6, :, 2:-1].copy_(ours)
        np.testing.assert_array_equal(out, wanted)


def test_batches_are_turned() -> None:
    x = np.arange(3 * 70 * 40, dtype=np.float32).reshape(3, 70, 40)
    np.testing.assert_array_equal(torch.from_numpy(x).transpose(1, 2).contiguous().numpy(), x.transpose(0, 2, 1))
    np.testing.assert_array_equal(torch.from_numpy(x).permute(2, 1, 0).contiguous().numpy(), x.transpose(2, 1, 0))


def test_converted_or_backwards_while_turned() -> None:
    x = np.arange(70 * 90, dtype=np.int32).reshape(70, 90)
    ours = torch.from_numpy(x)
    np.testing.assert_array_equal(ours.t().to(torch.float64, memory_format=torch.contiguous_format).numpy(), x.T)
    np.testing.assert_array_equal(ours.flip(0).t().contiguous().numpy(), x[::-1].T)


def test_over_its_own_memory() -> None:
    x = torch.arange(64 * 64).reshape(64, 64)
    x.t().copy_(x.clone())
    assert x.tolist() == torch.arange(64 * 64).reshape(64, 64).t().tolist()
