"""The project's commands: `python -m nox -s NAME [-- arguments]`. Each installs what it needs from pyproject.toml."""

import os
import sys

import nox

nox.needs_version = ">=2024.4.15"
nox.options.sessions = ["tests", "lint", "typecheck", "docs"]
nox.options.reuse_venv = "yes"

DEV = nox.project.load_toml("pyproject.toml")["project"]["optional-dependencies"]["dev"]
CORES = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
WORKERS = ["-n", "auto", f"--maxprocesses={CORES}", "--dist=worksteal"]
WORKERS += ["--capture=sys", "-p", "no:logging"]  # no test logs, and 70,000 times nothing takes half a minute
#: Interpreters that tests and pages start read compiled modules, whatever the caller's shell says of these.
HEADLESS = {"MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": ""}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@nox.session
def demo(session: nox.Session) -> None:
    """Real climate data: a sensitivity map by `.grad`, and a fit of every cell at once."""
    session.install("-e", ".[examples]")
    session.run("python", "examples/demo.py", *session.posargs, env=HEADLESS)


@nox.session
def tests(session: nox.Session) -> None:
    """Every test but the GPU's, one process per core; arguments go to pytest."""
    session.install("-e", ".[dev]")
    session.run("pytest", *WORKERS, *session.posargs, env=HEADLESS | ONE_THREAD)


@nox.session
def grid(session: nox.Session) -> None:
    """Every check of the table on every case: all samples, all tables of sizes."""
    session.install("-e", ".[dev]")
    where = session.posargs or ["tests/test_operations.py", "tests/test_layouts.py", "tests/backends", "tests/compile"]
    session.run("pytest", *WORKERS, *where, env=HEADLESS | ONE_THREAD | {"NAMEDGRAD_GRID": "1"})


@nox.session
def fuzz(session: nox.Session) -> None:
    """Random programs, thousands of them, also against JAX."""
    session.install("-e", ".[dev]", "jax")
    session.run(
        "pytest",
        *WORKERS,
        *(session.posargs or ["tests/test_programs.py", "tests/programs"]),
        env=HEADLESS | ONE_THREAD | {"NAMEDGRAD_FUZZ": "5000"},
    )


@nox.session
def oracle(session: nox.Session) -> None:
    """Values, gradients, batched gradients and Hessian-vector products against PyTorch and JAX."""
    session.install("-e", ".[dev]")
    session.install("torch==2.13.0", "expecttest", "jax")  # PyTorch's own sample inputs need expecttest
    settings = HEADLESS | ONE_THREAD | {"NAMEDGRAD_ORACLE": "1"}
    session.run("pytest", *WORKERS, *(session.posargs or ["tests/oracle"]), env=settings)


@nox.session
def xarray(session: nox.Session) -> None:
    """The tests of xarray programs with the packages that xarray takes shortcuts through, and programs of others."""
    session.install("-e", ".[dev]")
    session.install("numbagg", "bottleneck", "flox")
    session.install("cf_xarray", "pyet", "xarray-regrid", "xclim", "xhistogram", "xrft", "xskillscore")
    where = session.posargs or ["tests/xarray", "-m", "not gpu"]
    session.run("pytest", *WORKERS, *where, env=HEADLESS | ONE_THREAD)


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff over all Python files."""
    session.install(*(line for line in DEV if line.startswith("ruff")))
    session.run("ruff", "check", *(session.posargs or ["."]))


@nox.session
def typecheck(session: nox.Session) -> None:
    """Mypy, strict, over the package."""
    session.install("-e", ".[dev]")
    session.run("mypy", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """The pages, warnings as errors, and every example in them."""
    session.install("-e", ".[docs]")
    for builder in ("html", "doctest"):
        strict = ["-j", str(CORES), "-W", "--keep-going", "-n", "-d", "docs/_build/doctrees"]  # read once
        session.run(
            "sphinx-build", *strict, "-b", builder, *session.posargs, "docs", f"docs/_build/{builder}", env=HEADLESS
        )


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Overhead per operation against its peers (arguments go there), the other programs, then the time to import."""
    session.install("-e", ".")
    session.install("torch==2.13.0")
    session.install("jax", "autograd")
    session.run("python", "-m", "benchmarks.overhead", *session.posargs)
    session.run("python", "-m", "benchmarks.operations")
    session.run("python", "-m", "benchmarks.convolution")
    session.run("python", "-m", "benchmarks.gaussian_process")
    session.run("python", "-m", "benchmarks.numpy_programs")
    session.run("python", "-m", "benchmarks.xarray_programs")
    session.run("python", "-m", "benchmarks.fits")
    session.run("python", "-m", "benchmarks.import_time")


@nox.session
def gpu(session: nox.Session) -> None:
    """The tests marked gpu, on a machine that has one: processes share it, each compiles kernels for all."""
    session.install("-e", ".[dev,cupy]", "cupy-cuda13x[ctk]")  # ctk: CUDA itself, for a machine with only a driver
    session.run("pytest", "-m", "gpu", *WORKERS, *session.posargs, env=HEADLESS | ONE_THREAD)


@nox.session
def gpu_benchmarks(session: nox.Session) -> None:
    """Fits, gradients and operations on a GPU, beside torch and JAX."""
    session.install("-e", ".[cupy]", "cupy-cuda13x[ctk]")
    session.install("torch==2.13.0")
    session.install("jax[cuda13]")
    session.run("python", "-m", "benchmarks.gpu", *session.posargs)
