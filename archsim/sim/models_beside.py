"""The models that the compiled machine runs itself, DRAMs and networks in compiled code, and what moves ask of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from archsim.base.served import CompiledModel
from archsim.sim.arena import Arena
from archsim.sim.compiled import layout as k
from archsim.sim.events import SideCompletion
from archsim.sim.protocols import Parcel


class ModelInCode(Protocol):
    """A model of the event loop whose entries are in compiled code (``base.served``)."""

    def compiled(self) -> CompiledModel:
        """Where its entries and its memory lie."""

    def request(self, request: Any) -> tuple[int, int, int]:
        """Of a request of Python's WHAT, WHERE and ID."""

    def completion(self, number: int, place: int) -> SideCompletion:
        """What a row of its completions says of the request of Python's of this number."""

    def charge_to(self, layers: int) -> None:
        """Keep count for so many layers."""

    def make_room(self) -> None:
        """Make the room that it lacks."""


class ModelsBeside:
    """Tables of the ``models``, by their numbers in the event loop. ``numbers``: in the tables."""

    IDLE_PS: ClassVar[int] = k.NEVER + 1  # when nothing is under way

    def __init__(self, arena: Arena, models: Mapping[int, ModelInCode], layers: int) -> None:
        self._arena = arena
        self._models = dict(models)
        self._loop_numbers = list(models)
        self.numbers = {number: place for place, number in enumerate(models)}
        self._begun = self._parcels = 0
        arena.room("MODELS", len(models))
        for model in models.values():
            model.charge_to(layers)
        arena.table("BEGUN_TABLE")[:] = k.NONE
        m = arena.m
        m[k.MODEL_COUNT], m[k.MODELS_PS], m[k.MOST_PARCELS] = len(models), k.NEVER, 1
        m[k.FREE_TICKET] = k.NONE
        self._rooms()
        self._add_tickets(0)
        self._write()

    @staticmethod
    def rooms(queues: int) -> dict[str, int]:
        """Rows of its tables at first."""
        room = 4 * (4 * queues + 64)
        return {"MODELS": 4, "REQUESTS": room, "TICKETS": 2 * room, "BEGUN": 1024, "BEGUN_TABLE": 4096, "PARCELS": 1024}

    def row(self, model: int, request: Any) -> tuple[int, int, int]:
        """What a request of Python's says in its row."""
        return self._models[model].request(request)

    def completed(self, model: int, number: int, place: int) -> tuple[int, SideCompletion]:
        """What model ``model`` of the tables has completed for Python, and its number in the event loop."""
        loop_number = self._loop_numbers[model]
        return loop_number, self._models[loop_number].completion(number, place)

    def make_room(self) -> None:
        """Make room in the model that lacks it."""
        self._models[self._loop_numbers[int(self._arena.m[k.SHORT_MODEL])]].make_room()
        self._write()

    def begin(self, q: int, plan: int, rank: int, parcels: Sequence[Parcel] | None) -> bool:
        """Keep how the moves of a plan on queue ``q`` begin; whether the machine begins them itself."""
        arena, m = self._arena, self._arena.m
        if parcels is None or not all(parcel.model in self.numbers for parcel in parcels):
            parcels, rank = (), k.BY_PYTHON
        first = self._parcels
        self._parcels = last = first + len(parcels)
        arena.room("PARCELS", last)
        for place, parcel in enumerate(parcels, first):
            ends = k.TRAVEL_ENDS if parcel.travels else k.LEG_ENDS
            row = self.numbers[parcel.model], parcel.number, parcel.what, parcel.shift, ends
            arena.table("PARCELS")[place] = row
        arena.room("BEGUN", self._begun + 1)
        arena.table("BEGUN")[self._begun] = q, plan, rank, first, last
        self._begun += 1
        if 2 * self._begun > arena.rows["BEGUN_TABLE"]:
            self._rehash()
        else:
            self._insert(q, plan, self._begun - 1)
        m = arena.m
        m[k.MOST_PARCELS] = max(int(m[k.MOST_PARCELS]), len(parcels))
        return rank != k.BY_PYTHON

    def more_tickets(self, requests: int) -> None:
        """Room for so many moves more in an instant."""
        arena, m = self._arena, self._arena.m
        most = requests * int(m[k.MOST_PARCELS])
        before = arena.rows["TICKETS"]
        arena.room("REQUESTS", int(m[k.REQUEST_COUNT]) + most + 1)
        arena.room("TICKETS", int(m[k.TICKETS_OUT]) + most)
        self._rooms()
        self._add_tickets(before)

    def _rooms(self) -> None:
        """The last row of the requests is for sorting them."""
        arena = self._arena
        arena.m[k.REQUEST_ROOM], arena.m[k.TICKET_ROOM] = arena.rows["REQUESTS"] - 1, arena.rows["TICKETS"]
        arena.m[k.BEGUN_MASK] = arena.rows["BEGUN_TABLE"] - 1

    def _add_tickets(self, first: int) -> None:
        """The tickets from ``first`` on are free too."""
        tickets = self._arena.table("TICKETS")
        if first < len(tickets):
            tickets[first:, k.TICKET_NEXT] = np.arange(first + 1, len(tickets) + 1)
            tickets[-1, k.TICKET_NEXT] = self._arena.m[k.FREE_TICKET]
            self._arena.m[k.FREE_TICKET] = first

    def _write(self) -> None:
        """Write where the models lie."""
        rows = self._arena.table("MODELS")
        for place, model in enumerate(self._models.values()):
            rows[place] = model.compiled()

    def _rehash(self) -> None:
        """More room for finding what has been begun."""
        arena = self._arena
        arena._grow({"BEGUN_TABLE": 2 * arena.rows["BEGUN_TABLE"]}, {})
        self._rooms()
        arena.table("BEGUN_TABLE")[:] = k.NONE
        for number, (q, plan) in enumerate(arena.table("BEGUN")[: self._begun, : k.BEGUN_PLAN + 1].tolist()):
            self._insert(q, plan, number)

    def _insert(self, q: int, plan: int, number: int) -> None:
        """Put a row of BEGUN where it is found."""
        table = self._arena.table("BEGUN_TABLE")
        place = (q * k.BEGUN_HASH + plan) & (len(table) - 1)
        while table[place, 0] != k.NONE:
            place = (place + 1) & (len(table) - 1)
        table[place] = number
