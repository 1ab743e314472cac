"""The engine of a Dask cluster: an actor on every worker that holds examples; only sums travel to the driver.

An actor opens worker data on the partitions of its worker, takes part in all-reduces, and runs verbs on its shards.
Every exchange is one message to each actor, over Dask's own connections, and is watched: a worker that is gone, or does
not answer, is an error that names it.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client, Future, get_client, get_worker, wait
from distributed.actor import ProxyRPC
from distributed.client import FutureCancelledError
from distributed.comm import Comm, connect
from distributed.core import send_recv
from distributed.protocol import pickle
from distributed.scheduler import KilledWorker, NoValidWorkerError

from electorate.algorithms.protocol import Booster
from electorate.data.all_reduce import reduce_all
from electorate.data.bins import Bins
from electorate.engines.packing import Packing
from electorate.engines.targets import RemoteTargets
from electorate.engines.verbs import VERBS, Engine, Merge
from electorate.messages import WorkerLostError

DEADLINE = 3600.0  # seconds that one exchange may take, however busy the workers are
SILENCE = 3.0  # seconds without an answer until a worker is pinged
PATIENCE = 4.0  # seconds it has to answer the ping
LOOK = 0.5  # seconds between two looks at which workers are there
REACH = 4.0  # seconds in which a worker must be reached directly; else messages go through the scheduler
SHORT = 0.1  # seconds: exchanges up to that long are computed in the thread that receives messages, waking no other

logger = logging.getLogger(__name__)


# ---------------------------------------------------------------- on the workers


@dataclass(frozen=True)
class Done:
    """The end of an all-reduce, and its result."""

    value: Any


@dataclass(frozen=True)
class Sent:
    """A booster that was sent before, by its number."""

    number: int


@dataclass(frozen=True)
class Answer:
    """The answer of an actor: Dask does not look inside, and sends its arrays as they are, without copies."""

    value: Any


class WorkerActor:
    """Lives on a worker. parts: its partitions, in lists; data: what `open` makes of them."""

    def __init__(self, number: int, parts: list[list[Any]]) -> None:
        self.number = number
        self.parts: list[list[Any]] | None = parts
        self.data: Any = None
        self.steps: Any = None
        self.packing: Packing | None = None
        self.boosters: list[Booster] = []

    def handle(self, message: bytes) -> Answer:
        """Run the method that a message names, with its arguments.

        Pickled by us: Dask would look into every part of a message for what it can send in another way.
        """
        name, arguments = pickle.loads(message)
        device = None if self.data is None else self.data.device
        with nullcontext() if device is None else device.errors():
            return Answer(getattr(self, name)(*arguments))

    def fingerprint(self) -> str:
        return fingerprint()

    def open(self, opening: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.data = opening(self.number, get_worker().state.nthreads, self.parts, *arguments)
        self.parts = None

    def begin(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """The first request of an all-reduce; go_on returns the next ones."""
        self.steps = getattr(self.data, name)(*arguments)
        return self.go_on(None)

    def go_on(self, answer: Any) -> Any:
        try:
            return self.steps.send(answer)
        except StopIteration as end:
            self.steps = None
            for engine in self.data.engines.values():
                if self.packing is not None and "pack" in engine.verbs:
                    engine.call("pack", self.packing)
            return Done(end.value)

    def pack(self, bins: Bins) -> None:
        self.packing = Packing(bins)

    def call(self, engine: str, verb: str, arguments: tuple[Any, ...], new: list[Booster]) -> Any:
        """Run a verb on the shards of one engine. new: boosters that were not sent before."""
        self.boosters += new
        given = [self.boosters[item.number] if isinstance(item, Sent) else item for item in arguments]
        answer = self.data.engines[engine].call(verb, *given)
        return answer if self.packing is None else self.packing.pack(answer)


def fingerprint() -> str:
    """Return what the bits of a model depend on beside the data: NumPy's version, and its exp on this processor."""
    from electorate import __version__

    values = np.ascontiguousarray(np.linspace(-700.0, 40.0, 20011))
    bits = hashlib.sha256(np.exp(values).tobytes()).hexdigest()[:12]
    return f"electorate {__version__}, NumPy {np.__version__}, exp {bits}"


# ---------------------------------------------------------------- partitions


def collect(X: Any, y: Any, weight: Any) -> list[Any]:
    """One task per partition that makes (number, X, y, weight) of it."""
    import dask

    if getattr(X, "ndim", 2) != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: a Dask array of rows and columns")
    if hasattr(X, "numblocks") and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    columns = [_delayed(X)]
    for name, vector in (("y", y), ("sample_weight", weight)):
        columns.append([None] * len(columns[0]) if vector is None else _aligned(X, vector, name, len(columns[0])))
    task = dask.delayed(_part, pure=False)
    return [task(number, *parts) for number, parts in enumerate(zip(*columns, strict=True))]


def _part(number: int, X: Any, y: Any, weight: Any) -> tuple[int, Any, Any, Any]:
    return number, X, y, weight


def _delayed(collection: Any) -> list[Any]:
    return list(np.ravel(np.array(collection.to_delayed(), dtype=object)))


def _aligned(X: Any, vector: Any, name: str, n_partitions: int) -> list[Any]:
    if not hasattr(vector, "to_delayed"):
        raise TypeError(
            f"X is a Dask collection and {name} is {type(vector).__name__}: make {name} one too, with the partitions "
            f"of X (dask.array.from_array({name}, chunks=X.chunks[0]), or a column of the same dataframe)"
        )
    if hasattr(X, "chunks") and hasattr(vector, "chunks") and X.chunks[0] != vector.chunks[0]:
        rows = [sum(collection.chunks[0]) for collection in (X, vector)]
        if rows[0] != rows[1] and not np.any(np.isnan(rows)):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {rows[0]} rows, {name} {rows[1]}"
            )
        if not np.any(np.isnan(rows)):
            vector = vector.rechunk({0: X.chunks[0]})
    parts = _delayed(vector)
    if len(parts) != n_partitions:
        raise ValueError(
            f"X has {n_partitions} partitions and {name} {len(parts)}: they must be the same, row by row; "
            "repartition or rechunk one like the other"
        )
    return parts


def this_client() -> Client:
    try:
        client = get_client()
    except ValueError as error:
        raise ValueError(
            "X is a Dask collection, but there is no Dask client: make one before fit, for example "
            "client = distributed.Client() on this machine, or Client(address) for a cluster"
        ) from error
    if client.asynchronous:
        raise ValueError("fit waits for its workers: use a Dask client made with asynchronous=False")
    return client


def partitions_by_worker(client: Client, tasks: list[list[Any]]) -> dict[str, list[list[Future]]]:
    """Return the partitions of every list by the worker that holds them; of several, the one that has the fewest yet.

    Waits until Dask has computed all partitions, however long that takes.
    """
    workers, lists = workers_of(client), [client.compute(part) for part in tasks]
    futures = [future for part in lists for future in part]

    def lost(how: str) -> WorkerLostError:
        gone = workers - workers_of(client)
        return WorkerLostError(", ".join(sorted(gone)) or "(one that is back already)", f"was lost, {how}")

    try:
        wait(futures)
    except FutureCancelledError as error:
        raise lost("and what partitions are made from with it") from error
    for future in futures:
        cause = future.exception() if future.status == "error" else None
        if isinstance(cause, KilledWorker | NoValidWorkerError):
            raise lost(f"while partitions were read: {cause}") from cause
        if cause is not None:
            raise cause
    holders = client.who_has(futures)
    found: dict[str, list[list[Future]]] = {}
    for number, part in enumerate(lists):
        for future in part:
            there = sorted(holders.get(future.key, ()), key=lambda at: (sum(map(len, found.get(at, ()))), at))
            if future.status != "finished" or not there:
                raise lost("and a partition with it")
            found.setdefault(there[0], [[] for _ in lists])[number].append(future)
    return found


def workers_of(client: Client) -> set[str]:
    return set(client.scheduler_info(n_workers=-1)["workers"])


# ---------------------------------------------------------------- on the driver


class Cluster:
    """Actors on all workers that hold partitions. tasks: lists of partitions, for training and for validation.

    opening(number, n_threads, parts, *arguments) makes the worker data.
    """

    def __init__(self, tasks: list[list[Any]], opening: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.client = this_client()
        self.actors: list[Future] = []
        self.addresses: list[str] = []
        self.rpcs: list[Any] = []
        self.comms: list[Comm] = []
        self.took: dict[str, float] = {}  # seconds of the last exchange, by verb
        self.boosters: list[Booster] = []
        self.packing: Packing | None = None
        try:
            for number, (address, parts) in enumerate(sorted(partitions_by_worker(self.client, tasks).items())):
                self.addresses.append(address)
                made = self.client.submit(
                    WorkerActor, number, parts, actor=True, workers=[address], pure=False, retries=0
                )
                self.actors.append(made)
            self.client.sync(self._reach)
            self._wait_for_actors()
            self._refuse_mixed()
            self.exchange("open", opening, arguments)
        except BaseException:
            self.close()
            raise

    def _wait_for_actors(self) -> None:
        """An actor takes no time, but a worker may be busy; Dask itself would wait for ever for one that is gone."""
        pinged, until = time.monotonic(), time.monotonic() + DEADLINE
        while not all(actor.status == "finished" for actor in self.actors):
            with suppress(TimeoutError):
                wait(self.actors, timeout=LOOK)
            there, late = workers_of(self.client), time.monotonic() > until
            for address, actor in zip(self.addresses, self.actors, strict=True):
                if actor.status == "error" or (actor.status != "finished" and (late or address not in there)):
                    raise WorkerLostError(address, "was lost before it began")
            if time.monotonic() > pinged + SILENCE:
                self.client.sync(self._ping_all)
                pinged = time.monotonic()

    async def _reach(self) -> None:
        """Connections straight to the workers where there is a way, else through the scheduler."""
        try:
            connections = (connect(address, **self.client.connection_args) for address in self.addresses)
            self.comms = list(await asyncio.wait_for(asyncio.gather(*connections), REACH))
            self.rpcs = [self.client.rpc(address) for address in self.addresses]
        except (OSError, TimeoutError):
            logger.info("workers are not reached directly: messages go through the scheduler")
            self.rpcs = [ProxyRPC(self.client.scheduler, address) for address in self.addresses]
        for comm in self.comms:
            comm.allow_offload = False  # to measure every message would take longer than to read it

    def _refuse_mixed(self) -> None:
        mine = fingerprint().split(", exp")[0]
        found = self.exchange("fingerprint")
        for address, other in zip(self.addresses, found, strict=True):
            if other != found[0]:
                raise RuntimeError(
                    f"workers would not compute the same bits: {self.addresses[0]} has {found[0]}, and {address} has "
                    f"{other}; use workers of one kind of processor with the same versions"
                )
        if found[0].split(", exp")[0] != mine:
            raise RuntimeError(f"this process has {mine}, and worker {self.addresses[0]} has {found[0]}")

    # ------------------------------------------------------------ exchanges

    def all_reduce(self, name: str, *arguments: Any) -> Any:
        """Run the steps of that name in all worker data, which yield requests and get the reduced ones."""
        requests = self.exchange("begin", name, arguments)
        while not isinstance(requests[0], Done):
            requests = self.exchange("go_on", reduce_all(requests))
        value = requests[0].value
        if isinstance(value, Bins):
            self.packing = Packing(value)
            self.exchange("pack", value)
        return value

    def call(self, engine: str, verb: str, arguments: tuple[Any, ...], merges: dict[str, Merge] = VERBS) -> Any:
        """Run a verb on the shards of one engine on all workers. Boosters are sent once, and then by number."""
        new: list[Booster] = []
        given = tuple(self._sent(item, new) if isinstance(item, Booster) else item for item in arguments)
        merged = merges[verb](self.exchange("call", engine, verb, given, new))
        return merged if self.packing is None else self.packing.unpack(merged)

    def _sent(self, item: Booster, new: list[Booster]) -> Sent:
        for number, booster in enumerate(self.boosters):
            if booster is item:
                return Sent(number)
        self.boosters.append(item)
        new.append(item)
        return Sent(len(self.boosters) - 1)

    def engine(self, name: str, sizes: dict[str, Any], n_labels: int) -> "RemoteEngine":
        return RemoteEngine(self, name, {**sizes, "n_labels": n_labels})

    def target_engines(self, names: Sequence[str], n_kappas: int) -> dict[str, RemoteTargets]:
        return {name: RemoteTargets(self, name, n_kappas) for name in names}

    def exchange(self, name: str, *arguments: Any) -> list[Any]:
        """Call a method of every actor; return all answers."""
        loop = self.client.loop.asyncio_loop
        answers = asyncio.run_coroutine_threadsafe(self._exchange(name, arguments), loop)  # faster than client.sync
        try:
            return answers.result()
        except KeyboardInterrupt:
            answers.cancel()
            raise

    async def _exchange(self, name: str, arguments: tuple[Any, ...]) -> list[Any]:
        message = pickle.dumps((name, arguments))  # once, for all
        verb = arguments[1] if name == "call" else ""  # of rounds, which are similar; what comes before them is not
        began = time.monotonic()
        apart = not verb or self.took.get(verb, SHORT) >= SHORT
        calls = [asyncio.ensure_future(self._call(worker, message, apart)) for worker in range(len(self.actors))]
        try:
            answers = await self._answers(calls, began + DEADLINE)
        finally:
            for call in calls:
                call.cancel()
        self.took[verb] = time.monotonic() - began
        return answers

    async def _answers(self, calls: Sequence["asyncio.Future[Any]"], until: float) -> list[Any]:
        waiting = list(calls)
        while waiting:
            done, _ = await asyncio.wait(waiting, timeout=SILENCE, return_when=asyncio.FIRST_EXCEPTION)
            waiting = [call for call in waiting if not call.done()]
            for call in done:
                call.result()  # whatever went wrong
            if waiting:
                silent = [worker for worker, call in enumerate(calls) if not call.done()]
                if time.monotonic() > until:
                    raise WorkerLostError(self.addresses[silent[0]], f"did not answer within {DEADLINE:g} s")
                await asyncio.gather(*map(self._ping, silent))
        return [call.result() for call in calls]

    async def _call(self, worker: int, message: Any, apart: bool) -> Any:
        """apart: in a thread of its own, so that the worker still answers meanwhile."""
        order = {"function": "handle", "actor": self.actors[worker].key, "args": [message]}
        order["kwargs"] = {"separate_thread": apart}
        try:
            if self.comms:
                answer = await send_recv(self.comms[worker], op="actor_execute", **order)
            else:
                answer = await self.rpcs[worker].actor_execute(**order)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise WorkerLostError(self.addresses[worker], f"was lost ({type(error).__name__})") from error
        if answer["status"] == "OK":
            return answer["result"].value
        raise answer["exception"]

    async def _ping_all(self) -> None:
        await asyncio.gather(*map(self._ping, range(len(self.addresses))))

    async def _ping(self, worker: int) -> None:
        """A worker that computes still answers."""
        try:
            await asyncio.wait_for(self.rpcs[worker].identity(), PATIENCE)
        except Exception as error:
            raise WorkerLostError(self.addresses[worker], "does not answer") from error

    # ------------------------------------------------------------ the end

    def close(self) -> None:
        """Release the actors."""
        for comm in self.comms:
            self.client.loop.add_callback(comm.abort)
        self.comms = []
        for actor in self.actors:
            actor.release()
        self.actors = []

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class RemoteEngine(Engine):
    """The shards of one name in all worker data. sizes: the attributes of an engine, of all workers together."""

    def __init__(self, cluster: Cluster, name: str, sizes: dict[str, Any]) -> None:
        vars(self).update(sizes)
        self.cluster = cluster
        self.name = name

    def call(self, verb: str, *arguments: Any) -> Any:
        return self.cluster.call(self.name, verb, arguments)
