"""The native threads of a team: forks, many callers at once, limits of the system, the end of the process, no leaks.

Most tests run a program of their own. A time-out only ends one that hangs.
"""

import os
import subprocess
import sys
import threading

import joblib
import pytest
from samples import ROOT
from team_fits import digest_in_worker, digest_of_fit, four_cpus

from electorate import threads

TIMEOUT = 120
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
posix_only = pytest.mark.skipif(os.name != "posix", reason="fork and limits of POSIX")


@pytest.fixture(autouse=True)
def _several_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cpus", four_cpus)


PREAMBLE = """
import multiprocessing, os, sys, threading, time
from electorate import threads
from team_fits import digest_of_fit, four_cpus, native_threads
threads.cpus = four_cpus
before = native_threads()
def helpers():
    return sorted(native_threads() - before)
def fits_as_expected():
    sys.exit(digest_of_fit() != expected or (sys.platform == "linux" and len(helpers()) != 3))
def endless():
    digest_of_fit(10**7)
expected = digest_of_fit(n_jobs=1)
"""


def run_program(program: str, command: tuple[str, ...] = ()) -> str:
    """What the program prints; it must end by itself, with the code 0."""
    folders = (ROOT, ROOT / "tests", ROOT / "tests" / "engines")
    done = subprocess.run(
        [*command, sys.executable, "-c", PREAMBLE + program],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders)), "OPENBLAS_NUM_THREADS": "1"},
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.mark.process
@posix_only
def test_fork_after_a_fit_and_during_one() -> None:
    """A child has none of the parent's threads, and starts its own."""
    run_program("""
fork = multiprocessing.get_context("fork")
def try_children(n):
    for _ in range(n):
        child = fork.Process(target=fits_as_expected)
        child.start()
        child.join(30)
        assert child.exitcode == 0, child.exitcode
assert digest_of_fit() == expected
try_children(2)
threading.Thread(target=endless, daemon=True).start()
time.sleep(0.2)
try_children(10)
assert digest_of_fit() == expected
os._exit(0)
""")


@pytest.mark.process
@linux_only
def test_as_many_helpers_as_asked_for() -> None:
    """Validation rows have an engine of their own, but no threads of their own."""
    run_program("""
for n_jobs in (1, 2, 4, 3):
    assert digest_of_fit(n_jobs=n_jobs) == expected
    assert len(helpers()) == {1: 0, 2: 1, 4: 3, 3: 3}[n_jobs]
assert digest_of_fit(n_jobs=4, early_stopping=True) == digest_of_fit(n_jobs=1, early_stopping=True)
assert len(helpers()) == 3
""")


def test_50_fits_in_50_threads_at_once() -> None:
    """One of them has the team, the others work alone."""
    expected, start = digest_of_fit(n_jobs=1), threading.Barrier(50)
    found: list[str] = []

    def work() -> None:
        start.wait()
        found.append(digest_of_fit())

    callers = [threading.Thread(target=work) for _ in range(50)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(TIMEOUT)
    assert found == [expected] * 50


@pytest.mark.process
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_inside_joblib(backend: str) -> None:
    expected = digest_of_fit(n_jobs=1)
    tasks = (joblib.delayed(digest_in_worker)() for _ in range(4))
    assert joblib.Parallel(n_jobs=2, backend=backend, timeout=TIMEOUT)(tasks) == [expected] * 4


@pytest.mark.process
@linux_only
def test_without_permission_to_start_threads() -> None:
    """The limit of processes does not bind root."""
    run_program("""
import resource
if os.getuid() == 0:
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
for _ in range(3):
    assert digest_of_fit() == expected
assert not helpers()
""")


@pytest.mark.process
@posix_only
def test_small_stacks() -> None:
    """Of helpers, which have the size of `ulimit -s`, and of the caller."""
    run_program(
        """
threading.stack_size(256 * 1024)
found = []
caller = threading.Thread(target=lambda: found.append(digest_of_fit()))
caller.start()
caller.join(60)
assert found == [expected]
""",
        ("bash", "-c", 'ulimit -s 512 && exec "$@"', "bash"),
    )


@pytest.mark.process
@pytest.mark.parametrize("n_jobs", [1, 4])
def test_the_interpreter_ends_during_a_fit(n_jobs: int) -> None:
    run_program(f"""
threading.Thread(target=digest_of_fit, args=(10**7, {n_jobs}), daemon=True).start()
time.sleep(0.3)
""")


@pytest.mark.process
@linux_only
@pytest.mark.parametrize("n_fits", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_fits_leave_nothing_behind(n_fits: int) -> None:
    """Threads and descriptors stay as many, and the memory as large, as after the first fits."""
    run_program(f"""
def held():
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), helpers(), len(os.listdir("/proc/self/fd"))
for _ in range(50):
    digest_of_fit(2)
memory, *others = held()
for _ in range({n_fits}):
    digest_of_fit(2)
more, *now = held()
assert now == others, (now, others)
assert more < memory + 16e6, more - memory
""")


@pytest.mark.process
@linux_only
def test_idle_threads_do_not_run() -> None:
    """No helper has been switched to or from between two looks."""
    run_program("""
def switches():
    lines = [line for each in helpers() for line in open(f"/proc/self/task/{each}/status")]
    return [line for line in lines if "ctxt_switches" in line]
assert digest_of_fit() == expected
assert len(helpers()) == 3
deadline, idle = time.monotonic() + 60, False
while not idle and time.monotonic() < deadline:
    time.sleep(0.05)
    seen = switches()
    time.sleep(0.3)
    idle = switches() == seen
assert idle
""")
