# The chores of this repository. Needs make and Python 3.11 or later; everything else goes into .venv.
# PYTHON=/path/to/python chooses the interpreter that makes .venv.

VENV := .venv
RUN := $(VENV)/bin/python
CANDIDATES := python3.14 python3.13 python3.12 python3.11 python3
FUZZ_CASES ?= 2000
FUZZ_SEED ?= 0
QUICK_OUT ?= build/bench-quick
# What the compiled kernels are made from: after changes of these, too, the package is installed again.
CORE := CMakeLists.txt tools/build_backend.py $(shell find core -type f)
CMAKE = cmake -G Ninja -S . -DPython_EXECUTABLE=$(abspath $(RUN))

# An interpreter counts when it runs, has what a virtual environment needs, and is new enough.
USABLE := import ensurepip, ssl, sys, venv; sys.exit(sys.version_info < (3, 11))
# Runs its arguments while holding a lock that ends with the process, however it ends.
LOCKED := import fcntl, subprocess, sys; f = open(".venv.lock", "w"); fcntl.flock(f, fcntl.LOCK_EX); \
	sys.exit(subprocess.call(sys.argv[1:]))

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

.DEFAULT_GOAL := help
.PHONY: help demo core check test test-fast test-oldest test-fast-oldest test-dask sanitize test-arm lint bench bench-quick fuzz docs dist \
	clean build-venv

help:
	@echo "make demo         a tour of half a minute, after installing the package into $(VENV)"
	@echo "make core         the compiled kernels of this checkout, after changes in core/; needs CMake, Ninja and a compiler"
	@echo "make check        the first check of a change, in a minute: ruff, and the tests and golden records of what it touches"
	@echo "make test         the tests, without the slow ones"
	@echo "make test-fast    the tests that start no processes, with two parameter sets and few examples of each"
	@echo "make test-oldest  test-fast without tests/golden, with the oldest supported releases, on Python 3.11 in .venv-oldest"
	@echo "make test-dask    every fault of a Dask cluster 20 times; writes benchmarks/DASK_FAULTS.log"
	@echo "make sanitize     the tests of kernels with every index checked, by AddressSanitizer, UBSan and ThreadSanitizer of g++"
	@echo "make test-arm     the kernels for aarch64 under QEMU, and twenty golden records; downloads into build/arm; needs Debian 12"
	@echo "make lint         ruff (rules and format) and mypy"
	@echo "make bench        speed and memory beside the peers; writes benchmarks/"
	@echo "make bench-quick  the same on tiny data; writes $(QUICK_OUT)/"
	@echo "make fuzz         $(FUZZ_CASES) hostile files, inputs and parameters of every kind (FUZZ_CASES=, FUZZ_SEED=)"
	@echo "make docs         the site, warnings being errors; writes build/site/"
	@echo "make dist         a wheel, tried in an empty environment; writes dist/"
	@echo "make clean        removes $(VENV), caches and build outputs"

demo: $(VENV)/.installed-demo
	$(RUN) tools/tour.py

# Stale stamps are no reason to install again here: at the end the modules are current, and the stamps say so.
core:
	@[ -e $(VENV)/.installed-base ] || $(MAKE) --no-print-directory $(VENV)/.installed-base
	$(CMAKE) -B build/core >build/core.log || { cat build/core.log >&2; exit 1; }
	cmake --build build/core
	cmake --install build/core >>build/core.log
	@find $(VENV) -maxdepth 1 -name '.installed-*' -newer pyproject.toml -exec touch {} +

check: $(VENV)/.installed-dev
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) tools/check.py

test: $(VENV)/.installed-test
	$(RUN) -m pytest -n 2 --dist worksteal -m "not slow and not gpu"

test-fast: $(VENV)/.installed-test
	$(RUN) -m pytest -n 2 --dist worksteal -m "not slow and not process and not gpu" --fast

# requirements-oldest.txt has the lower bounds of pyproject.toml. The bits of tests/golden are those of the NumPy that the
# group `test` pins, which test-tools does not.
test-oldest:
	$(MAKE) --no-print-directory VENV=.venv-oldest CONSTRAINTS=requirements-oldest.txt CANDIDATES=python3.11 test-fast-oldest

test-fast-oldest: $(VENV)/.installed-test-tools
	$(RUN) -m pytest -n 2 --dist worksteal -m "not slow and not process and not gpu" --fast --ignore=tests/golden

test-dask: $(VENV)/.installed-test
	$(RUN) tools/dask_faults.py 20

# Copies of the package beside modules that are built for sanitizers, whose libraries must be loaded before Python.
# ThreadSanitizer knows neither threads after a fork nor small stacks, and reports what pyarrow does.
sanitize: sanitize-address,undefined sanitize-thread
sanitize-address,undefined: PRELOAD = libasan.so
sanitize-thread: PRELOAD = libtsan.so
sanitize-thread: THREADS = tests/engines/test_team.py -k "not fork and not small_stacks"
sanitize-%: $(VENV)/.installed-test
	$(CMAKE) -B build/$@ -DELECTORATE_SANITIZE=$* -DCMAKE_CXX_COMPILER=g++ -DCMAKE_UNITY_BUILD=ON >build/$@.log
	cmake --build build/$@
	rm -rf build/$@/tree && mkdir build/$@/tree && cp -R electorate tests pyproject.toml CMakeLists.txt build/$@/tree
	rm -f build/$@/tree/electorate/kernels/_core_*.so && cp build/$@/_core_*.so build/$@/tree/electorate/kernels
	printf 'race:libarrow\ndeadlock:libarrow\n' >build/$@/suppressions
	cd build/$@/tree && LD_PRELOAD="$$(g++ -print-file-name=$(PRELOAD)) $$(g++ -print-file-name=libstdc++.so.6)" \
	  ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=suppressions=../suppressions \
	  $(abspath $(RUN)) -m pytest -p no:cacheprovider -m "not slow and not gpu" tests/kernels $(THREADS)

test-arm: $(VENV)/.installed-test
	$(RUN) -m pip install -qq "ziglang>=0.15"
	tools/test_arm.sh $(abspath $(RUN))

lint: $(VENV)/.installed-lint
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

bench: $(VENV)/.installed-bench
	$(RUN) benchmarks/run.py

bench-quick: $(VENV)/.installed-bench
	$(RUN) benchmarks/run.py --quick --out $(QUICK_OUT)

fuzz: $(VENV)/.installed-test
	$(RUN) tools/fuzz.py --count $(FUZZ_CASES) --seed $(FUZZ_SEED)

docs: $(VENV)/.installed-docs
	$(RUN) -m sphinx -q -W --keep-going -b html docs build/site
	@echo "build/site/index.html"

dist: $(VENV)/.installed-dist
	rm -rf dist build/smoke
	$(RUN) -m build --outdir dist .
	$(RUN) -m venv build/smoke
	build/smoke/bin/python -m pip install -qq "$$(ls dist/*.whl)[tables]"
	cd build/smoke && env -u PYTHONPATH bin/python ../../tools/smoke.py
	@ls dist

clean:
	rm -rf $(VENV) .venv-oldest .venv.lock build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp per dependency group of pyproject.toml, so that a second run starts at once. The lock, and the second look at the
# stamp under it, keep two makes from installing into one environment at the same time. While any stamp is current,
# another group brings its packages only: the kernels are not compiled again.
$(VENV)/.installed-%: pyproject.toml $(CORE) $(CONSTRAINTS)
	@python=""; for p in $(or $(PYTHON),$(CANDIDATES)); do \
	  if "$$p" -c '$(USABLE)' >/dev/null 2>&1; then python=$$p; break; fi; done; \
	if [ -z "$$python" ]; then \
	  echo "electorate needs Python 3.11 or later, with venv, ensurepip and ssl. Tried:" >&2; \
	  for p in $(or $(PYTHON),$(CANDIDATES)); do \
	    echo "  $$p: $$("$$p" --version 2>&1 | head -1)" >&2; done; \
	  echo "Install one of them, or name it: make PYTHON=/path/to/python3.12" >&2; exit 1; fi; \
	"$$python" -c '$(LOCKED)' $(MAKE) --no-print-directory -f $(firstword $(MAKEFILE_LIST)) \
	  build-venv PYTHON="$$python" GROUP=$*

build-venv:
	@if [ ! -e $(VENV)/.created ]; then \
	  echo "making $(VENV) with $$($(PYTHON) --version)"; \
	  $(PYTHON) -m venv --clear $(VENV) && $(RUN) -m pip install -qq "pip>=25.1" && touch $(VENV)/.created; fi
	@is_stale() { [ ! -e "$$1" ] || [ -n "$$(find pyproject.toml $(CORE) $(CONSTRAINTS) -newer "$$1")" ]; }; \
	if is_stale $(VENV)/.installed-$(GROUP); then \
	  package="--editable ."; note=": compiling the kernels takes about a minute"; \
	  for stamp in $(VENV)/.installed-*; do if ! is_stale "$$stamp"; then package=electorate; note=""; fi; done; \
	  echo "installing electorate ($(GROUP)) into $(VENV)$$note"; \
	  $(RUN) -m pip install -qq $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS)) \
	    $$package $(if $(filter-out base,$(GROUP)),--group $(GROUP)) $(if $(filter-out base dist,$(GROUP)),--editable studies) \
	    && touch $(VENV)/.installed-$(GROUP); fi
