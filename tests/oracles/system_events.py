"""The system of docs/system.md with a process for each thread, call and engine.

Slow, and there to be believed: an engine walks its schedule slot by slot, and each lane has a queue
of elements for each stream. Times are in clocks of the engine.
"""

import math
from collections import deque
from collections.abc import Generator
from typing import Any

import simpy

from tests.oracles.system import Call, System

Process = Generator[Any, Any, None]


def events(system: System, requests: list[list[float]], phases: list[float]) -> list[Call]:
    """Simulate the calls that are requested at these clocks; return them as they end.

    A round of each engine starts at its phase, at most 0.
    """
    world = World(system, len(requests), phases)
    for stream, times in enumerate(requests):
        world.env.process(world.thread(stream, times))
    while len(world.ended) < sum(map(len, requests)):
        world.env.step()
    return world.ended


class Work:
    """A call at the engine: the slots that its elements took in each lane."""

    def __init__(self, env: simpy.Environment, passes: int) -> None:
        self.passes_left = passes  # of all its elements
        self.slots: list[int] = []
        self.entered = env.event()  # all its elements, for the last time

    def enter(self, slot: int) -> None:
        self.slots.append(slot)
        self.passes_left -= 1
        if not self.passes_left:
            self.entered.succeed()


class World:
    """Threads, links and engines, and what they share."""

    def __init__(self, system: System, streams: int, phases: list[float]) -> None:
        self.system, self.env = system, simpy.Environment()
        self.links = [simpy.Resource(self.env) for _ in phases]
        self.waiting: list[list[deque[Work]]] = [
            [deque() for _ in range(system.lanes)] for _ in range(streams)
        ]
        self.ended: list[Call] = []
        for engine, phase in enumerate(phases):
            self.env.process(self.engine(engine, phase))

    def clocks(self, seconds: float) -> simpy.Event:
        return self.env.timeout(seconds / self.system.clock_period)

    def thread(self, stream: int, times: list[float]) -> Process:
        window = simpy.Resource(self.env, capacity=self.system.calls_in_flight)
        for request in times:
            if request > self.env.now:
                yield self.env.timeout(request - self.env.now)
            place = window.request()
            yield place
            begun = self.env.now
            yield self.clocks(self.system.set_up_time)
            self.env.process(self.call(stream, request, begun, (window, place)))

    def call(self, stream: int, request: float, begun: float, held: tuple[Any, Any]) -> Process:
        s, joined = self.system, self.env.now
        link = self.links[0 if s.shared_link else stream // s.streams]
        with link.request() as turn:
            yield turn
            sent = self.env.now
            yield self.clocks(s.link_occupancy_time)
        yield self.clocks(s.travel_time)
        arrived = self.env.now
        elements = math.ceil(s.granularity / s.element_bytes)
        dealt = math.ceil(
            elements / s.lanes
        )  # lanes work in step: one without an element idles along
        work = Work(self.env, dealt * s.lanes * s.passes)
        for lane in self.waiting[stream]:
            lane.extend([work] * (dealt * s.passes))
        yield work.entered
        yield self.env.timeout(s.pipeline_depth)
        first, last = min(work.slots), max(work.slots)
        end = self.env.now
        self.ended.append(Call(stream, request, begun, joined, sent, arrived, first, last, end))
        window, place = held
        window.release(place)

    def engine(self, engine: int, phase: float) -> Process:
        """Walk the schedule: groups in turn, in a turn so many slots of each member."""
        s = self.system
        streams = range(engine * s.streams, (engine + 1) * s.streams)
        groups = [streams[i : i + s.pipeline_depth] for i in range(0, s.streams, s.pipeline_depth)]
        clock, rounds = phase, 0
        while True:
            for group in groups:
                for turn in range(s.schedule_period):
                    for member in range(s.pipeline_depth):  # a place without a member stays idle
                        if clock >= 0 and member < len(group):
                            yield from self.slot(group[member], rounds + turn, clock)
                        clock += 1
                clock += s.context_switch if len(groups) > 1 else 0
            rounds += s.schedule_period

    def slot(self, stream: int, index: int, clock: float) -> Process:
        """Let the first waiting element of each lane enter, after all else of this clock."""
        if stream >= len(self.waiting):
            return
        event = simpy.Event(self.env)
        event._ok, event._value = True, None
        self.env.schedule(event, priority=2, delay=max(clock - self.env.now, 0.0))
        yield event
        for lane in self.waiting[stream]:
            if lane:
                lane.popleft().enter(index)
