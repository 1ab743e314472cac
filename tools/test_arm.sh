#!/usr/bin/env bash
# The kernels compiled for aarch64 and run on this machine by QEMU: against their twins, and twenty golden records.
#
# Needs the sources of Debian 12 for apt-get (nothing is installed), pip, CMake and Ninja. Everything is in build/arm.
# $1: the Python of an environment with NumPy and ziglang.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$1
arm=$PWD/build/arm
mkdir -p "$arm"/{state/lists/partial,cache/archives/partial,root,tree}

if [ ! -e "$arm/ready" ]; then
  # An apt of its own for the packages of arm64, and QEMU from the one of this machine.
  touch "$arm/state/status"
  printf 'APT::Architecture "arm64";\nAPT::Architectures { "arm64"; };\nDir::State "%s/state";\nDir::State::status "%s/state/status";\nDir::Cache "%s/cache";\n' \
    "$arm" "$arm" "$arm" >"$arm/apt.conf"
  (
    cd "$arm/cache"
    export APT_CONFIG=$arm/apt.conf
    apt-get -qq update
    apt-get -qq download python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libc6 libcrypt1 libstdc++6 \
      libgcc-s1 zlib1g libexpat1 libffi8 liblzma5 libbz2-1.0 libssl3 libsqlite3-0 libuuid1
    env -u APT_CONFIG apt-get -qq download qemu-user-static
    for package in *.deb; do dpkg-deb -x "$package" "$arm/root"; done
  )
  "$python" -m pip install -qq --target "$arm/site" --upgrade --only-binary=:all: --python-version 3.11 \
    --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 \
    --platform manylinux_2_17_aarch64 \
    numpy==2.4.6 scikit-learn pandas narwhals joblib threadpoolctl cloudpickle psutil pytest hypothesis
  touch "$arm/ready"
fi

printf '#!/bin/sh\nexec "%s" -m ziglang c++ -target aarch64-linux-gnu.2.28 "$@"\n' "$python" >"$arm/zig-c++"
chmod +x "$arm/zig-c++"
cmake -G Ninja -S . -B "$arm/core" -DPython_EXECUTABLE="$python" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_UNITY_BUILD=ON \
  -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER="$arm/zig-c++" -DELECTORATE_ZIG=ON >/dev/null
cmake --build "$arm/core"
rm -rf "$arm/tree" && mkdir "$arm/tree" && cp -R electorate tests pyproject.toml "$arm/tree"
rm -f "$arm"/tree/electorate/kernels/_core_*.so && cp "$arm"/core/_core_base.abi3.so "$arm/tree/electorate/kernels"
cd "$arm/tree"
run() {
  "$arm/root/usr/bin/qemu-aarch64-static" -L "$arm/root" -E PYTHONPATH="$arm/site:$PWD:$PWD/tests" \
    "$arm/root/usr/bin/python3.11" "$@"
}
run -m pytest -p no:cacheprovider -m "not slow and not gpu" tests/kernels --deselect tests/kernels/test_zero_sizes.py
[ "$(run tests/kernels/zero_sizes.py 2>/dev/null)" = done ]
run - <<'PROGRAM'
from tests.golden.cases import cases, fit, stored

# Linear and quadratic programs have the bits of their solvers.
every = {name: case for name, case in cases().items() if "LPBoost" not in name and "RQPBoost" not in name}
records = stored()["records"]
chosen = list(every)[:: len(every) // 20]
different = [name for name in chosen if fit(name, every[name]) != records[name]]
print(f"{len(chosen)} golden records, different: {different}")
raise SystemExit(bool(different))
PROGRAM
