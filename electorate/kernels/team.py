"""A thread pool in compiled code: threads take tasks from a shared board with atomic operations, without the GIL.

The board is an array of 64-bit integers. The calling thread runs `run_tasks`: it publishes the address of a compiled
task and of its arguments, takes tasks itself, and returns when all of them are done. Helper threads run `serve`, which
takes tasks until none has come for some milliseconds. The ticket combines the number of the job with the number of
tasks that are not taken yet. It changes by compare-and-swap only, so a helper that was preempted cannot take a task of
an earlier job.

Tasks get arrays without reference counts. The caller of `run_tasks` keeps these arrays alive until all tasks are done.
"""

import platform
from typing import Any

import numba.extending
from llvmlite import ir
from numba import types
from numba.core import cgutils

from electorate.kernels.compile import kernel
from electorate.kernels.team_board import ARGUMENTS, CLOSED, DONE, FAILED, TASK, TICKET

UNTAKEN = (1 << 32) - 1  # the bits of the ticket that count the tasks nobody has taken
PAUSES = 64  # between two offers of the core to other threads: a few microseconds
SPINS = 800  # such rounds before a helper sleeps between two looks: longer than the driver takes for a level
SLEEP = 20  # microseconds, and what the system adds
LOOKS = 200  # after so many sleeps without work a helper leaves
intrinsic: Any = numba.extending.intrinsic  # the arguments of a call are not those of the function that it decorates
WORD, ORDER = ir.IntType(64), "seq_cst"
ADDRESS = ir.IntType(8).as_pointer()


def _place(context, builder, board_type, board, place):
    view = context.make_array(board_type)(context, builder, board)
    return cgutils.get_item_pointer(context, builder, board_type, view, [place], wraparound=False)


@intrinsic
def _load(typing, board, place):
    def generate(context, builder, signature, arguments):
        return builder.load_atomic(_place(context, builder, signature.args[0], *arguments), ORDER, 8)

    return types.int64(board, types.int64), generate


@intrinsic
def _store(typing, board, place, value):
    def generate(context, builder, signature, arguments):
        builder.store_atomic(arguments[2], _place(context, builder, signature.args[0], *arguments[:2]), ORDER, 8)
        return context.get_dummy_value()

    return types.void(board, types.int64, types.int64), generate


@intrinsic
def _add(typing, board, place, value):
    def generate(context, builder, signature, arguments):
        where = _place(context, builder, signature.args[0], *arguments[:2])
        return builder.atomic_rmw("add", where, arguments[2], ORDER)

    return types.int64(board, types.int64, types.int64), generate


@intrinsic
def _swap(typing, board, place, old, new):
    """Write `new` where `old` stands; whether it stood there."""

    def generate(context, builder, signature, arguments):
        where = _place(context, builder, signature.args[0], *arguments[:2])
        return builder.extract_value(builder.cmpxchg(where, *arguments[2:], ORDER, ORDER), 1)

    return types.boolean(board, types.int64, types.int64, types.int64), generate


@intrinsic
def _pause(typing):
    """Let the other thread of this core work."""

    def generate(context, builder, signature, arguments):
        machine = platform.machine().lower()
        if machine in ("x86_64", "amd64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _yield_core(typing):
    """Let another thread have this core, if one waits for it."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _sleep(typing, microseconds):
    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32)])
        called = cgutils.get_or_insert_function(builder.module, kind, "usleep")
        builder.call(called, [builder.trunc(arguments[0], ir.IntType(32))])
        return context.get_dummy_value()

    return types.void(types.int64), generate


def _borrowed(context, builder, kind: Any, value):
    """The same arrays without reference counts."""
    if isinstance(kind, types.Array):
        view = context.make_array(kind)(context, builder, value)
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()
    if isinstance(kind, types.BaseTuple):
        members: Any = kind
        for i, part in enumerate(members.types):
            mine = _borrowed(context, builder, part, builder.extract_value(value, i))
            value = builder.insert_value(value, mine, i)
    return value


@intrinsic
def note(typing, place, group):
    """Write a tuple of arrays and numbers into the bytes `place`, for `recall`; the arrays must outlive it there."""

    def generate(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        kind = context.get_value_type(signature.args[1])
        builder.store(
            _borrowed(context, builder, signature.args[1], arguments[1]), builder.bitcast(view.data, kind.as_pointer())
        )
        return context.get_constant(types.int64, context.get_abi_sizeof(kind))

    return types.int64(place, group), generate


@intrinsic
def recall(typing, address, like):
    """The tuple that was noted at an address; like: one of the same type."""

    def generate(context, builder, signature, arguments):
        kind = context.get_value_type(signature.args[1])
        return builder.load(builder.inttoptr(arguments[0], kind.as_pointer()))

    return like(types.int64, like), generate


@intrinsic
def array_at(typing, address, like):
    """An array of the same shape as `like` that begins at an address."""

    def generate(context, builder, signature, arguments):
        view = context.make_array(signature.args[1])(context, builder, arguments[1])
        view.data = builder.inttoptr(arguments[0], view.data.type)
        return _borrowed(context, builder, signature.args[1], view._getvalue())

    return like(types.int64, like), generate


@intrinsic
def prepared(typing, task, arguments):
    """The addresses of a kernel of (number, arguments), compiled, and of these arguments, while the caller runs."""
    called = typing.resolve_function_type(task, (types.int64, arguments), {})

    def generate(context, builder, signature, values):
        kind = context.get_value_type(signature.args[1])
        place = cgutils.alloca_once_value(builder, _borrowed(context, builder, signature.args[1], values[1]))
        compiled = signature.args[0].dispatcher.get_compile_result(called)
        context.active_code_library.add_linking_library(compiled.library)
        entry = ir.Function(
            builder.module, ir.FunctionType(WORD, [ADDRESS, WORD]), f"{compiled.fndesc.mangled_name}.task"
        )
        entry.linkage = "internal"
        inside = ir.IRBuilder(entry.append_basic_block())
        group = inside.load(inside.bitcast(entry.args[0], kind.as_pointer()))
        status, _ = context.call_internal_no_propagate(inside, compiled.fndesc, called, (entry.args[1], group))
        inside.ret(inside.zext(status.is_error, WORD))
        found = [builder.ptrtoint(entry, WORD), builder.ptrtoint(place, WORD)]
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(types.int64, 2)(task, arguments), generate


@intrinsic
def _call(typing, task, arguments, number):
    """Run one task; 1 if it failed."""

    def generate(context, builder, signature, values):
        kind = ir.FunctionType(WORD, [ADDRESS, WORD]).as_pointer()
        task, arguments, number = values
        return builder.call(builder.inttoptr(task, kind), [builder.inttoptr(arguments, ADDRESS), number])

    return types.int64(types.int64, types.int64, types.int64), generate


@kernel
def _take_task(board):
    """Run one task that nobody has taken; False if there is none."""
    ticket = _load(board, TICKET)
    untaken = ticket & UNTAKEN
    if untaken == 0 or not _swap(board, TICKET, ticket, ticket - 1):
        return untaken > 0
    if _call(board[TASK], board[ARGUMENTS], untaken - 1) != 0:
        _add(board, FAILED, 1)
    _add(board, DONE, 1)
    return True


@kernel
def run_tasks(board, n_tasks, task, arguments):
    """Run the tasks 0..n_tasks - 1, given by the addresses that `prepared` returns; False if one of them failed."""
    board[TASK], board[ARGUMENTS] = task, arguments
    _store(board, DONE, 0)
    _store(board, FAILED, 0)
    _store(board, TICKET, ((_load(board, TICKET) >> 32) + 1) << 32 | n_tasks)
    while _take_task(board):
        pass
    looks = 0
    while _load(board, DONE) < n_tasks:
        _pause()
        looks += 1
        if looks % PAUSES == 0:
            _yield_core()
    return _load(board, FAILED) == 0


@kernel
def serve(board):
    """Take tasks until there have been none for some milliseconds, or the board is closed."""
    idle = 0
    while idle < PAUSES * SPINS + LOOKS and _load(board, CLOSED) == 0:
        if _take_task(board):
            idle = 0
            continue
        idle += 1
        if idle > PAUSES * SPINS:
            _sleep(SLEEP)
        elif idle % PAUSES == 0:
            _yield_core()
        else:
            _pause()


@kernel
def close(board):
    """Make all helpers return from `serve`."""
    _store(board, CLOSED, 1)
