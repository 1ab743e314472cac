"""All kernels compile, by NVRTC, which needs no GPU."""

import ctypes
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from electorate.cuda.launch import FILES, KERNELS, OPTIONS, source


def nvrtc() -> ctypes.CDLL:
    """The library of the wheel, or the reason to skip."""
    spec = find_spec("nvidia")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or [] if spec else [])]
    found = [path for folder in folders for path in sorted(folder.glob("*/lib/libnvrtc.so.*"))]
    if not found:
        pytest.skip("nvidia-cuda-nvrtc is not installed")
    return ctypes.CDLL(str(found[-1]))


def compile_program(text: str, options: tuple[str, ...]) -> tuple[int, str, str]:
    """The status, the log and the assembly."""
    library, program = nvrtc(), ctypes.c_void_p()
    assert library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"electorate.cu", 0, None, None) == 0
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    status = library.nvrtcCompileProgram(program, len(options), given)
    texts = []
    for name in ("ProgramLog", "PTX"):
        size = ctypes.c_size_t()
        getattr(library, f"nvrtcGet{name}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        getattr(library, f"nvrtcGet{name}")(program, buffer)
        texts.append(buffer.value.decode())
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return status, texts[0], texts[1]


@pytest.mark.parametrize("architecture", ["compute_75", "compute_90"])
def test_kernels_compile_without_fused_products(architecture):
    status, log, assembly = compile_program(source(), (*OPTIONS, f"--gpu-architecture={architecture}"))
    assert status == 0, log
    assert set(re.findall(r"\.entry (\w+)", assembly)) == set(KERNELS)
    assert not re.findall(r"\bfma\.rn\.f64", re.sub(r"(?s)\bdiv\b.*?;", "", assembly))


def test_every_source_file_is_compiled():
    folder = Path(__file__).parents[2] / "electorate" / "cuda"
    assert {path.stem for path in folder.glob("*.cu")} == set(FILES)
