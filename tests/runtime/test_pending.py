"""Operators whose module is imported when one of their names is first used."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

BEFORE = (
    "import sys, mindtorch_v2 as torch; pending = lambda: 'mindtorch_ops.special' not in sys.modules; assert pending()"
)


@pytest.mark.parametrize(
    "use",
    [
        "torch.special.i1(torch.ones(1))",
        "torch.ops.aten.special_i1",
        "torch._C._dispatch_has_kernel('aten::special_i1')",
        "torch._core.find_operator('aten::special_i1')",
        "torch._core.operator_names()",
        "torch.special_i1",
    ],
)
def test_a_use_imports_the_module(use: str) -> None:
    code = f"{BEFORE}; {use}; assert not pending()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_method_is_there_before_and_after() -> None:
    code = textwrap.dedent("""
        import sys, mindtorch_v2 as torch
        assert "mindtorch_ops.cumulative" not in sys.modules
        assert "cumsum" in dir(torch.Tensor) and "cumsum" in dir(torch)
        assert torch.arange(3).cumsum(0).tolist() == [0, 1, 3]
        assert "mindtorch_ops.cumulative" in sys.modules
        assert torch.Tensor.cumsum(torch.arange(3), 0).tolist() == torch.cumsum(torch.arange(3), 0).tolist()
    """)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("found_by", ["getattr(torch, name)", "getattr(torch.ops.aten, name)"])
def test_threads_that_use_a_module_first_at_once_all_find_it(found_by: str) -> None:
    code = textwrap.dedent(f"""
        import random, sys, threading
        import mindtorch_v2 as torch

        sys.setswitchinterval(1e-6)  # a switch wherever there can be one
        names = sorted(name for name, operator in torch._pending.pending_functions().items() if name[0] != "_")
        assert len(names) > 50
        failures, start = [], threading.Barrier(8)

        def work(seed):
            order = random.Random(seed).sample(names, len(names))
            start.wait()
            for name in order:
                try:
                    {found_by}
                except (AttributeError, RuntimeError) as error:
                    failures.append(f"{{name}}: {{error!r}}")

        threads = [threading.Thread(target=work, args=(seed % 4,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures[:10]
    """)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_threads_call_an_operator_only_once_it_is_whole() -> None:
    # Of several overloads each, by functions, methods and overloads; the operators come from a dozen modules.
    code = textwrap.dedent("""
        import random, sys, threading
        import mindtorch_v2 as torch

        sys.setswitchinterval(1e-6)
        x, i = torch.ones(3), torch.ones(3, dtype=torch.int64)
        calls = [
            lambda: torch.special.xlog1py(x, 2.0), lambda: torch.special.xlog1py(2.0, x), lambda: x.cumsum(0),
            lambda: torch.bitwise_left_shift(1, i), lambda: torch.bitwise_left_shift(i, 1), lambda: x.float_power(2.0),
            lambda: torch.float_power(2.0, x), lambda: torch.tensor_split(x, i[:1]), lambda: i.bitwise_right_shift(1),
            lambda: torch.repeat_interleave(i), lambda: torch.repeat_interleave(x, 2), lambda: torch.nanmedian(x, 0),
            lambda: torch.median(x), lambda: torch.fft.fft(x), lambda: torch.linalg.norm(x), lambda: torch.std_mean(x),
            lambda: torch.quantile(x, 0.5), lambda: torch.ops.aten.cumsum.default(x, 0), lambda: torch.ldexp(x, i),
            lambda: torch.ops.aten.special_xlog1py.self_scalar(2.0, x), lambda: torch.linalg.cond(torch.eye(3)),
            lambda: x.index_fill(0, i[:1], x[0]), lambda: torch.heaviside(x, x), lambda: torch.unique_consecutive(x),
        ]
        failures, start = [], threading.Barrier(8)

        def work(seed):
            order = random.Random(seed).sample(calls, len(calls))
            start.wait()
            for call in order:
                try:
                    call()
                except (AttributeError, RuntimeError, TypeError) as error:
                    failures.append(repr(error))

        threads = [threading.Thread(target=work, args=(int(sys.argv[1]) + seed % 2,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures[:10]
    """)
    for seed in range(6):
        subprocess.run([sys.executable, "-c", code, str(2 * seed)], check=True, timeout=300)


def test_an_overload_of_the_users_is_added_to_the_built_in_ones() -> None:
    code = textwrap.dedent("""
        import mindtorch_v2 as torch
        library = torch.library.Library("aten", "FRAGMENT")
        library.define("cummax.mine(Tensor self, str how) -> Tensor")
        assert torch.ops.aten.cummax.overloads()[-1] == "mine" and len(torch.ops.aten.cummax.overloads()) > 2
        try:
            library.define("special_i1(Tensor self) -> Tensor")
        except RuntimeError as error:
            assert "already" in str(error), error
        else:
            raise SystemExit("the built-in operator was defined a second time")
    """)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_name_that_is_missing_says_where_the_names_are() -> None:
    import mindtorch_v2 as torch

    with pytest.raises(AttributeError, match=r"no attribute 'no_such_name': docs/coverage\.md"):
        torch.no_such_name  # noqa: B018


def test_an_operator_that_is_no_function_is_not_listed_as_one() -> None:
    code = "import mindtorch_v2 as torch; assert not {'copy'} & {*dir(torch), *vars(torch)}; torch.ops.aten.copy"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
