"""Files that are replaced whole or not at all, and what cannot be replaced."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import electorate
from electorate.text import check_writable, write_text, writing

posix_only = pytest.mark.skipif(os.name != "posix", reason="modes, links and pipes of POSIX")
HOME = str(Path(electorate.__file__).parent.parent)


@pytest.fixture(params=["nameless", "named"])
def folder(tmp_path, monkeypatch, request):
    """With the nameless files of Linux, and as on systems without them."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return tmp_path


def test_an_error_keeps_the_old_file_and_leaves_nothing(folder):
    (folder / "f").write_text("old")
    with pytest.raises(TypeError), writing(folder / "f") as file:
        file.writelines([b"half", None])
    assert (folder / "f").read_text() == "old"
    assert list(folder.iterdir()) == [folder / "f"]
    write_text(folder / "f", "né\r\n")
    assert (folder / "f").read_bytes() == "né\r\n".encode()
    assert list(folder.iterdir()) == [folder / "f"]


@posix_only
def test_permissions_are_kept_or_those_of_the_umask(folder):
    (folder / "private").touch(mode=0o600)
    before = os.umask(0o027)
    try:
        write_text(folder / "private", "x")
        write_text(folder / "new", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "private").stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "new").stat().st_mode) == 0o640


@posix_only
def test_links_are_written_through(folder):
    (folder / "other").mkdir()
    (folder / "link").symlink_to("other/real")
    write_text(folder / "link", "first")  # the link leads to nothing yet
    write_text(folder / "link", "second")
    assert (folder / "link").is_symlink()
    assert (folder / "other" / "real").read_text() == "second"
    assert sorted(folder.iterdir()) == [folder / "link", folder / "other"]


@posix_only
def test_a_pipe_and_a_device_are_written_to(folder):
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join(10)
    assert got == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    check_writable("/dev/null")
    write_text("/dev/null", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.process
@posix_only
def test_standard_output_is_added_to_and_not_replaced(folder):
    program = "from electorate.text import write_text; print('1', flush=True); write_text('/dev/stdout', '2\\n')"
    with open(folder / "out", "w") as out:
        out.write("0\n")
        out.flush()
        subprocess.run([sys.executable, "-c", program], stdout=out, env={**os.environ, "PYTHONPATH": HOME}, check=True)
        out.write("3\n")
    assert (folder / "out").read_text() == "0\n1\n2\n3\n"


@pytest.mark.process
@posix_only
def test_a_killed_process_leaves_nothing_where_files_can_be_nameless(tmp_path):
    (tmp_path / "f").write_text("old")
    program = (
        "import os, signal, sys; from electorate.text import writing\n"
        "with writing(sys.argv[1]) as file:\n"
        "    file.write(b'x' * 10**6); file.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "f")]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": HOME}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "f").read_text() == "old"
    left = {path.name for path in tmp_path.iterdir()} - {"f"}
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_WRONLY))
    except (OSError, AttributeError):
        pytest.skip("this file system has no nameless files")
    assert not left


def test_what_cannot_be_written_is_known_before(tmp_path):
    check_writable(tmp_path / "new")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        check_writable(tmp_path / "missing" / "new")
    with pytest.raises(IsADirectoryError):
        check_writable(tmp_path)
    if os.name == "posix" and os.geteuid() != 0:
        (tmp_path / "ro").mkdir(mode=0o500)
        with pytest.raises(PermissionError):
            check_writable(tmp_path / "ro" / "new")
