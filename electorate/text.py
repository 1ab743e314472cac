"""Files that are replaced whole or not at all, and standard streams whose faults do not end the work.

The new contents of a file go to a temporary file in the same folder, which then takes the place of the old file. Where
the system has nameless files (Linux), not even a killed process leaves one behind.
"""

import contextlib
import errno
import io
import os
import re
import stat
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any, BinaryIO

STREAMS = re.compile(r"/dev/(?P<name>stdout|stderr)|(?:/dev|/proc/self)/fd/(?P<number>[0-9]+)")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what only writing raises
PLAIN = {ord("\u00b1"): "+-", ord("\u2013"): "-", ord("\u00d7"): "x"}  # for streams that cannot encode these


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open `path` for writing; it holds the old contents until the block ends without an error.

    A symbolic link stays, and the file it names is replaced. A replaced file has the permissions of the old one, a new
    one those of the umask. Devices, pipes and /dev/stdout cannot be replaced: they are written to directly.
    """
    name = os.fsdecode(path)
    stream = STREAMS.fullmatch(name)
    descriptor = None
    if stream is not None:
        descriptor = os.dup(int(stream["number"] or {"stdout": 1, "stderr": 2}[stream["name"]]))
    elif _is_special(_mode(name)):
        descriptor = os.open(name, os.O_WRONLY)
    with naming_full_disk(name), replacing(name) if descriptor is None else open(descriptor, "wb") as file:
        yield file


@contextlib.contextmanager
def naming_full_disk(name: str) -> Iterator[None]:
    """Give an error of a full disk the name of what is written: the system knows only the descriptor."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in FULL:
            error.filename = name
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the OSError that writing to `path` would raise, as far as that can be checked before the work."""
    name = os.fsdecode(path)
    if STREAMS.fullmatch(name) or _is_special(_mode(name)):
        return
    folder = os.path.dirname(os.path.realpath(name))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write to", os.path.dirname(name) or folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "this folder cannot be written to", folder)


def _mode(name: str) -> int | None:
    """The mode of the file at `name`, None if there is none; a folder raises."""
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    return mode


def _is_special(mode: int | None) -> bool:
    """Whether it is a device or a pipe."""
    return mode is not None and not stat.S_ISREG(mode)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file as `writing`, for regular files only: OSError for a device or a pipe."""
    target = os.path.realpath(os.fsdecode(path))
    mode = _mode(target)
    if _is_special(mode):
        raise OSError(errno.EINVAL, "not a regular file", target)
    folder, temporary = os.path.dirname(target), f".electorate-{os.urandom(8).hex()}.tmp"
    path = os.path.join(folder, temporary)
    # Private until it gets the permissions of the old file, which may be private itself.
    try:
        file, is_nameless = _new_file(folder, path, 0o666 if mode is None else 0o600)
    except OSError as error:
        error.filename = target  # not the name of the temporary file
        raise
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if is_nameless:  # Python follows the link in /proc only when it gets the descriptor of a folder
                with _open_folder(folder) as descriptor:
                    os.link(f"/proc/self/fd/{file.fileno()}", temporary, dst_dir_fd=descriptor)
        if mode is not None:
            os.chmod(path, stat.S_IMODE(mode) & 0o777)
        os.replace(path, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    # Make the rename durable where the system can; the new file is complete in any case.
    with contextlib.suppress(OSError), _open_folder(folder) as descriptor:
        os.fsync(descriptor)


def _new_file(folder: str, path: str, mode: int) -> tuple[BinaryIO, bool]:
    """A new file, and whether it still needs a name. The name is unpredictable, and O_EXCL follows no link."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # not every file system has nameless files
            return open(os.open(folder, os.O_TMPFILE | os.O_WRONLY, mode), "wb"), True
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return open(os.open(path, flags, mode), "wb"), False


@contextlib.contextmanager
def _open_folder(folder: str) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace the file at `path` by one that holds `text`, in UTF-8 and with its own line ends."""
    with writing(path) as file:
        file.write(text.encode())


# ---------------------------------------------------------------- standard streams


class StandardStream(io.TextIOBase):
    """A text stream that never raises: `error` is what writing to it raised first, and the rest is left out.

    Characters that it cannot encode are replaced. stream: None if it was closed when Python started.
    """

    def __init__(self, stream: Any, name: str) -> None:
        self.stream, self.name = stream, name
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        if self.stream is None and text:
            self._fail(OSError(errno.EBADF, "it is closed", self.name))
        elif self.error is None:
            try:
                self.stream.write(text)
            except UnicodeEncodeError:
                encoding = self.encoding
                self.write(text.translate(PLAIN).encode(encoding, "replace").decode(encoding))
            except (OSError, ValueError) as error:
                self._fail(error)
        return len(text)

    def flush(self) -> None:
        if self.stream is not None and self.error is None:
            try:
                self.stream.flush()
            except (OSError, ValueError) as error:
                self._fail(error)

    def _fail(self, error: OSError | ValueError) -> None:
        if self.error is None:
            self.error = error if isinstance(error, OSError) else OSError(errno.EBADF, "it is closed", self.name)
            self.error.filename = self.error.filename or self.name

    def finish(self) -> None:
        """Write what is buffered; after an error let it disappear, so that it does not fail again at exit."""
        self.flush()
        if self.error is not None:
            with contextlib.suppress(OSError, ValueError, AttributeError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self.stream.fileno())
                os.close(nowhere)

    def isatty(self) -> bool:
        return self.stream is not None and self.error is None and bool(self.stream.isatty())

    def fileno(self) -> int:
        if self.stream is None:
            raise OSError(errno.EBADF, "it is closed", self.name)
        return int(self.stream.fileno())

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self.stream, "encoding", None) or "ascii"

    @property
    def buffer(self) -> Any:
        """The stream of bytes below, whose errors are raised."""
        if self.stream is None:
            raise OSError(errno.EBADF, "it is closed", self.name)
        self.flush()
        return self.stream.buffer


@contextlib.contextmanager
def safe_messages() -> Iterator[None]:
    """Let messages and progress on standard error be lost where they cannot be written."""
    errors = StandardStream(sys.stderr, "standard error")
    with contextlib.redirect_stderr(errors):
        try:
            yield
        finally:
            errors.finish()


@contextlib.contextmanager
def safe_results() -> Iterator[None]:
    """Let `print` to standard output succeed; what was lost there is raised at the end, when the work is done."""
    results = StandardStream(sys.stdout, "standard output")
    with contextlib.redirect_stdout(results):
        try:
            yield
        finally:
            results.finish()
    if results.error is not None:
        raise results.error


def occupy_closed_descriptors() -> None:
    """Open the descriptors 0 to 2 that are closed on the null device: else the next file gets the number of one."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


# ---------------------------------------------------------------- untrusted text

# A spreadsheet evaluates a cell that begins with one of these characters, in either width, and may trim invisible ones
# before it. Both expressions are for Python and for pyarrow.
FORMULA = "^(?:[\t\r\n]|[\\s\x00-\x20\xa0\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20-])(?s:.)"
NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+|inf|nan)([eE][+-]?[0-9]+)?\s*$"
# Unicode categories that are escaped: controls, formats (also those that change the direction of a line), surrogates,
# private characters, and separators of lines and paragraphs.
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def literal(text: object, longest: int = 200) -> str:
    """A text for a terminal or a log: invisible characters are escaped, and a long text is cut."""
    raw = str(text)
    cut = raw if len(raw) <= longest else raw[: longest - 3] + "..."
    hidden = {c for c in cut if unicodedata.category(c) in HIDDEN}
    return "".join(c.encode("unicode_escape").decode("ascii") if c in hidden else c for c in cut)


def cell(value: object) -> str:
    """A value for a CSV cell: a text that a spreadsheet would evaluate gets an apostrophe before it.

    Numbers, and a sign alone, are not formulas.
    """
    text = str(value)
    return "'" + text if re.match(FORMULA, text) and not re.match(NUMBER, text) else text
