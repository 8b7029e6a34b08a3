"""A crew of the workers of a Dask scheduler: each chunk goes to a worker that it names.

Dask carries chunks and rows and says which workers there are. Who gets what is decided here: Dask would count the death
of a worker against all tasks that it had been given, begun or not, and try them again by a setting of the scheduler's
own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from archsim.base.errors import ConfigError, SimulationError
from archsim.lab.sweep import remote_worker, row_keys
from archsim.lab.sweep.chunks import TaskChunk, TaskChunks, WorkerHand
from archsim.lab.sweep.worker import SweepRow, SweepTask, work

POLL_S = 0.5  # between two looks at which workers there are
FETCH_S = 5.0  # for the rows of a chunk that is done; then its worker is looked after
ALONE_S = 60.0  # without any worker, when no more are to come


class DaskExecutor:
    """A ``Crew`` of the workers of ``client``'s scheduler, whichever come and go.

    ``close``: ends what was begun for it; ``coming``: so many workers were asked for and will be waited for as long as
    it takes.
    """

    def __init__(
        self,
        client: Any,
        close: Callable[[], None] = lambda: None,
        coming: int = 0,
        work: Callable[[SweepTask], SweepRow] = work,
    ) -> None:
        self._client, self._close, self._coming = client, close, coming
        self._seen: set[str] = set()  # names of all workers that there were
        variables = {key: value for key, value in os.environ.items() if key.startswith("ARCHSIM_")}
        self._orders = remote_worker.WorkerOrders(str(client.id), os.getcwd(), variables, row_keys.version(), work)

    def __enter__(self) -> DaskExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._client.status == "running":
                self._client.run(remote_worker.stop, self._orders.sweep, on_error="ignore")
        finally:
            self._client.close()
            self._close()

    def rows(self, tasks: Iterable[SweepTask], seconds: float | None = None) -> Iterator[SweepRow]:
        """See ``Crew.rows``."""
        sending = _Sending(self._client, self._orders, TaskChunks(tasks), seconds)
        looked = here = time.monotonic()
        try:
            yield from sending.follow()
            while sending.hand_out():
                yield from sending.fetch(POLL_S)
                now = time.monotonic()
                if now - looked >= POLL_S:
                    yield from sending.follow()
                    looked = now
                here = now if sending.hands else here
                self._seen |= sending.names
                self._check(now - here)
        finally:
            sending.cancel()

    def _check(self, alone_s: float) -> None:
        """Raises SimulationError when nobody is left who could go on."""
        if self._client.status != "running":
            raise SimulationError("the scheduler of the cluster is gone; go on with --resume")
        if alone_s > ALONE_S and len(self._seen) >= self._coming:
            raise SimulationError(f"the cluster has no workers since {alone_s:.0f} s; go on with --resume")


class _Sending:
    """Chunks that are with workers. ``hands``: of each worker that is there, by address; ``names``: of the workers."""

    def __init__(
        self, client: Any, orders: remote_worker.WorkerOrders, chunks: TaskChunks, seconds: float | None
    ) -> None:
        self.hands: dict[str, WorkerHand] = {}
        self.names: set[str] = set()
        self._client, self._orders, self._chunks, self._seconds = client, orders, chunks, seconds
        self._under_way: dict[Any, tuple[str, TaskChunk]] = {}
        self._done: SimpleQueue[Any] = SimpleQueue()

    def hand_out(self) -> bool:
        """Give workers what they can take, to those that have least first; whether anything is still to be done."""
        given = True
        while given:
            least_first = sorted(self.hands, key=lambda each: len(self.hands[each].chunks) / self.hands[each].threads)
            given = any([self._give(address) for address in least_first])
        return bool(self._under_way) or not self._chunks.over

    def _give(self, address: str) -> bool:
        """Send a worker a chunk more, if it can take one."""
        chunk = self._chunks.take(self.hands[address])
        if chunk is None:
            return False
        future = self._client.submit(
            remote_worker.run, self._orders, chunk.tasks, self._seconds, workers=[address], pure=False
        )
        self._under_way[future] = address, chunk
        future.add_done_callback(self._done.put)
        return True

    def fetch(self, wait_s: float) -> Iterator[SweepRow]:
        """The rows of the next chunk that is done; none if none is within ``wait_s``."""
        from distributed import CancelledError, KilledWorker

        try:
            future = self._done.get(timeout=wait_s)
        except Empty:
            return
        if future not in self._under_way:
            return
        address, chunk = self._under_way[future]
        try:
            rows: list[SweepRow] = future.result(timeout=FETCH_S)
        except TimeoutError:  # lost with its worker, as ``follow`` will see; or on its way
            future.add_done_callback(self._done.put)
        except KilledWorker:
            yield from self._gone(address, blamed=True)
        except CancelledError:
            self._over(future)
            self._chunks.back(chunk)
        except Exception as error:
            said = str(error) if isinstance(error, ConfigError) else f"{type(error).__name__}: {error}"
            raise ConfigError(f"worker {address}: {said}") from error
        else:
            self._over(future)
            for row in rows:
                self._chunks.pace.learn(row)
            yield from rows

    def follow(self) -> Iterator[SweepRow]:
        """See which workers have come and gone; rows of tasks whose workers died too often."""
        there: Mapping[str, Mapping[str, Any]] = self._client.scheduler_info()["workers"]
        for address in [address for address in self.hands if address not in there]:
            yield from self._gone(address, blamed=not self._left(address))
        for address, worker in there.items():
            self.hands.setdefault(address, WorkerHand(int(worker["nthreads"])))
            self.names.add(str(worker["name"]))

    def cancel(self) -> None:
        """Take back what is under way."""
        if self._under_way and self._client.status == "running":
            self._client.cancel(list(self._under_way), force=True)
        self._under_way.clear()

    def _over(self, future: Any) -> None:
        address, chunk = self._under_way.pop(future)
        self.hands[address].chunks.remove(chunk)

    def _gone(self, address: str, *, blamed: bool) -> list[SweepRow]:
        """A worker is gone, and with it what it had; rows of tasks that have failed by that."""
        lost = [future for future, (place, _) in self._under_way.items() if place == address]
        for future in lost:
            del self._under_way[future]
        self._client.cancel(lost, force=True)
        return self._chunks.lost(self.hands.pop(address), f"its worker died ({address})", blamed=blamed)

    def _left(self, address: str) -> bool:
        """Whether a worker that is gone had said so, as at the end of its time."""
        events = self._client.get_events(address)
        said = [event for _, event in events if isinstance(event, dict) and event.get("action") == "remove-worker"]
        return bool(said) and bool(said[-1].get("expected"))
