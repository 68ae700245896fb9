"""The system of docs/explanation/system.md with a process for each thread, call and engine.

Slow, and there to be believed: an engine with fixed slots walks its schedule slot by slot, with a
queue of calls for each stream. A work-conserving engine is a resource of contexts. Either enters a
call's elements one by one. Times are in clocks of the engine.
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
    """A call at the engine: the passes that its elements in the fullest lane have left."""

    def __init__(self, system: System, env: simpy.Environment) -> None:
        elements = math.ceil(system.granularity / system.element_bytes)
        if not system.chained:
            elements = math.ceil(elements / system.lanes)
        self.chained, self.pause = system.chained, system.pipeline_depth
        self.passes = [system.passes] * elements
        self.ready = [0] * elements  # slots of the call until the next pass of each
        self.count = 0  # slots that the call has had
        self.slots: list[int] = []
        self.entered = env.event()  # all its elements, for the last time

    def enter(self, slot: int) -> None:
        """Use a slot: for the earliest pass that is ready. A chained call has no choice."""
        left = [i for i, n in enumerate(self.passes) if n]
        if self.chained:
            left = left[:1]
        most = max(self.passes[i] for i in left)
        ready = [i for i in left if self.ready[i] <= self.count and self.passes[i] == most]
        if ready:
            self.passes[ready[0]] -= 1
            self.ready[ready[0]] = self.count + (1 if self.chained else self.pause)
        self.count += 1
        self.slots.append(slot)
        if not any(self.passes):
            self.entered.succeed()


class World:
    """Threads, links and engines, and what they share."""

    def __init__(self, system: System, streams: int, phases: list[float]) -> None:
        self.system, self.env = system, simpy.Environment()
        self.links = [simpy.Resource(self.env) for _ in phases]
        self.waiting: list[deque[Work]] = [deque() for _ in range(streams)]
        self.contexts = [simpy.Resource(self.env, capacity=system.contexts) for _ in phases]
        self.ended: list[Call] = []
        if not system.work_conserving:
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
        work = Work(s, self.env)
        first = last = -1
        if s.work_conserving:
            with self.contexts[stream // s.streams].request() as context:
                yield context
                yield self.env.timeout(s.context_switch)
                while not work.entered.triggered:
                    work.enter(0)
                    yield self.env.timeout(s.apart)
            yield self.env.timeout(s.pipeline_depth - s.apart)
        else:
            self.waiting[stream].append(work)
            yield work.entered
            yield self.env.timeout(s.pipeline_depth)
            first, last = work.slots[0], work.slots[-1]
        end = self.env.now
        self.ended.append(Call(stream, request, begun, joined, sent, arrived, first, last, end))
        window, place = held
        window.release(place)

    def engine(self, engine: int, phase: float) -> Process:
        """Walk the schedule: groups in turn, in a turn so many slots of each member."""
        s = self.system
        members = range(engine * s.streams, (engine + 1) * s.streams)
        lanes = [members[i : i + s.lane_streams] for i in range(0, s.streams, s.lane_streams)]
        clock, rounds = phase, 0
        while True:
            for group in range(0, s.groups * s.apart, s.apart):
                for turn in range(s.schedule_period):
                    for place in range(group, group + s.apart):  # without a stream it stays idle
                        here = [lane[place] for lane in lanes if place < len(lane)]
                        if clock >= 0 and here:
                            yield from self.slot(here, rounds + turn, clock)
                        clock += 1
                clock += s.context_switch if s.groups > 1 else 0
            rounds += s.schedule_period

    def slot(self, streams: list[int], index: int, clock: float) -> Process:
        """Let the first waiting call of each lane's stream enter, after all else of this clock."""
        event = simpy.Event(self.env)
        event._ok, event._value = True, None
        self.env.schedule(event, priority=2, delay=max(clock - self.env.now, 0.0))
        yield event
        for stream in streams:
            waiting = self.waiting[stream] if stream < len(self.waiting) else None
            if waiting:
                waiting[0].enter(index)
                if waiting[0].entered.triggered:
                    waiting.popleft()
