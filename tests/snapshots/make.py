"""``python -m tests.snapshots.make`` takes the snapshots anew, from the PyTorch that is installed."""

from __future__ import annotations

import numpy as np
import torch

from tests.snapshots.cases import DATA, FAMILIES, arrays


def main() -> None:
    """Writes an archive a family: ``case/number`` is an array of a result."""
    for family, cases in FAMILIES.items():
        found = {f"{name}/{at}": array for name, case in cases.items() for at, array in enumerate(arrays(torch, case))}
        np.savez_compressed(DATA / f"{family}.npz", **found)
        print(f"{family}: {len(cases)} cases, {len(found)} arrays")


if __name__ == "__main__":
    main()
