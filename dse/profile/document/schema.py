"""The fields of a profile.

``profile-format.md`` explains each field; ``dse schema profile`` prints the JSON Schema.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from dse.model.values import plural, show_percent

CONSTANTS = "(constants)"
PROGRAM_INPUT = "(input)"
UNKNOWN = "(unknown)"
THREADS = "(threads)"
START = "(start)"
OUTSIDE = "(outside)"

Count = Annotated[int, Field(ge=0, lt=2**63)]  # arrays hold it


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class CacheLevels(_Part):
    """An inclusive two-level cache; sizes in bytes, ways 1 is direct-mapped."""

    l1: Count
    l2: Count
    line: Count
    l1_ways: Count = 1
    l2_ways: Count = 1


class Program(_Part):
    """What was built and how it was run."""

    sources: tuple[str, ...]
    digest: str = Field(description="SHA-256 over the sources' contents")
    arguments: tuple[str, ...]
    optimisation: Count
    flags: tuple[str, ...] = ()
    compiler: str
    target: str


class Settings(_Part):
    """What was measured."""

    caches: tuple[CacheLevels, ...]
    transfers: bool
    chunk: Count = Field(description="bytes of memory that are followed together")
    functions: tuple[str, ...] | None = None
    region: str | None = None


class Run(_Part):
    """How the run ended; counts of a run that is not complete are those up to its end."""

    complete: bool
    ended: Literal[
        "exit", "signal", "time limit", "memory limit", "interrupted", "too deep", "too many calls"
    ]
    exit_status: int | None = None
    signal: int | None = None
    invocations: Count = 0
    shadow_bytes: Count = 0
    addresses_fixed: bool = Field(description="whether cache results repeat from run to run")
    libraries_counted: bool = Field(
        default=False,
        description="whether valgrind counted machine instructions, of functions and of libraries",
    )
    l1_misses: Count | None = Field(
        default=None,
        description="misses of the program and of libraries in L1 of the first cache, counted by "
        "valgrind without the loader; null: not counted",
    )
    tree_merged: bool = Field(description="whether calling contexts were merged for their number")


class CriticalPath(_Part):
    """Work and critical path of a function's calls, callees included, recursions within a call.

    In cycles of hardware at the host's clock (:mod:`dse.profile.critical_path.weights`).
    """

    calls: Count = Field(description="calls that were measured: not the deepest ones")
    work: float = Field(ge=0, description="sum of the cycles of all operations")
    length: float = Field(
        ge=0, description="cycles of the longest chain of operations, summed over the calls"
    )
    linked_objects: Count = Field(
        default=0,
        description="objects that a call reached through at least six pointers, each in the object "
        "that the one before leads to, all stored before the call; summed over the calls",
    )


class LibraryWork(_Part):
    """Instructions of a library's code in the calls from a function; callbacks are left out."""

    library: str
    instructions: Count
    l1_misses: Count | None = Field(
        default=None, description="misses in L1 of the first cache; null: not counted"
    )
    copies: bool = Field(
        default=False, description="whether this code only copies or fills memory, as memcpy does"
    )


class Function(_Part):
    """A function of the program, or a library function (`foreign`)."""

    name: str
    symbol: str
    file: str = ""
    line: Count = 0
    foreign: bool = False
    entry: Count | None = Field(description="number of its first block")
    invocations: Count
    computation: Count = Field(description="arithmetic and logical instructions executed")
    computation_inclusive: Count | None = Field(
        description="the same, callees included; null if transfers are not measured"
    )
    instructions: Count | None = Field(
        default=None,
        description="machine instructions of the function; null: valgrind did not count them",
    )
    local_bytes: Count = Field(description="bytes that an invocation wrote and read itself")
    working_set: Count = Field(
        default=0, description="bytes of memory that it and its callees touched, in words of 4"
    )
    call_working_set: Count = Field(
        default=0, description="the same of one call, of that which touched most"
    )
    system: bool = Field(
        default=False, description="whether a header of the system or the compiler defines it"
    )
    io: bool | None = Field(
        default=None,
        description="whether it is a library function that does I/O, reads a clock or sleeps; "
        "null: unknown",
    )
    libraries: tuple[LibraryWork, ...] = Field(
        default=(), description="work of code without instrumentation that it calls"
    )
    critical_path: CriticalPath | None = Field(
        default=None, description="null: not measured (dse profile --critical-path)"
    )


class Block(_Part):
    """A basic block; a foreign function has one block without instructions."""

    id: Count
    function: str
    name: str
    line: Count
    executions: Count
    exits: int = Field(description="executions that left the function here")
    area: Count = Field(description="instructions that hardware would hold")
    instructions: dict[str, Count] = Field(
        description="instructions of one execution by class, of those it has"
    )


class Edge(_Part):
    """How often block `to` followed block `from` in the same invocation."""

    source: Count = Field(validation_alias="from", serialization_alias="from")
    to: Count
    count: Count


class Call(_Part):
    """Calls from a block to a function, with the values passed in registers."""

    source: Count = Field(validation_alias="from", serialization_alias="from")
    to: str
    count: Count
    arguments: Count
    result: bool


class Register(_Part):
    """A value that a block defines and other blocks use, all of which ran."""

    name: str
    source: Count = Field(validation_alias="from", serialization_alias="from")
    to: tuple[Count, ...]
    argument: bool = False


class Access(_Part):
    """A load or store: one triple (L1, L2, memory) of hits a cache configuration."""

    block: Count
    kind: Literal["load", "store"]
    size: Count = Field(description="bytes; 0 for runs of bytes, which count once a line")
    line: Count
    hits: tuple[tuple[Count, Count, Count], ...]


class Read(_Part):
    """Bytes that an access read of what block `from` last wrote there."""

    access: Count = Field(description="position in `accesses`")
    source: Count | None = Field(
        validation_alias="from",
        serialization_alias="from",
        description="null if no block of the program wrote: constants, input, unknown",
    )
    bytes: Count


class Crossing(_Part):
    """Lines that `from` wrote (dirty) or brought in (clean), by who touched them after it."""

    cache: Count
    level: Literal[1, 2] = Field(description="the cache that the lines stayed in")
    source: Count = Field(validation_alias="from", serialization_alias="from")
    to: tuple[Count, ...] = Field(
        min_length=1, description="all blocks that touched them until they were written or left"
    )
    dirty: Count
    clean: Count


class Transfer(_Part):
    """Bytes that one function wrote and another read."""

    source: str = Field(validation_alias="from", serialization_alias="from")
    to: str
    bytes: Count


class Chain(_Part):
    """A value that each execution of a block computes from its value in an earlier one."""

    block: Count
    length: Count = Field(description="instructions from one value to the next, at least")
    steps: Count = Field(description="executions that take the value of one before")
    starts: Count = Field(description="executions that take a value from outside of the chain")


class Context(_Part):
    """A node of the call tree; `parent` is the position of another, -1 for a root."""

    parent: Annotated[int, Field(ge=-1, lt=2**63)]
    function: str
    invocations: Count
    computation: Count
    entered: Count | None = Field(
        default=None,
        description="invocations while no other one of the function lived; null: unknown",
    )


class Recursion(_Part):
    """Calls of a function that the caller's context, or one above it, represents."""

    source: Count = Field(
        validation_alias="from", serialization_alias="from", description="position in `call_tree`"
    )
    to: Count = Field(description="position of that context")
    count: Count


class SourceLine(_Part):
    """A line of a source, in which a block that ran begins."""

    file: str
    line: Count
    text: str


class Unmodelled(_Part):
    """A library function that may touch memory in ways unknown to the profile."""

    name: str
    calls: Count


class Unaccounted(_Part):
    """Traffic whose writer is unknown."""

    bytes: Count
    share: float = Field(ge=0, le=1)
    functions: tuple[Unmodelled, ...]


class ThreadStart(_Part):
    """Threads that entered the program's code at the same function."""

    function: str
    count: Count


class Threads(_Part):
    """Threads that ran code of the program besides the profiled one, which runs ``main``."""

    others: tuple[ThreadStart, ...] = Field(min_length=1)
    cpu_fraction: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="fraction of the CPU time in other threads, measured in a run without "
        "instrumentation; null: unknown",
    )
    functions: tuple[str, ...] = Field(
        default=(), description="library functions of unknown effect that the other threads called"
    )

    @property
    def most(self) -> bool:
        """Whether most of the CPU time is in the other threads."""
        return self.cpu_fraction is not None and self.cpu_fraction > 0.5

    @property
    def words(self) -> str:
        """A sentence on the threads that the profile does not contain, the time first."""
        named = [f"{t.function}{f' x {t.count}' if t.count > 1 else ''}" for t in self.others[:3]]
        more = f" and {len(self.others) - 3} more" if len(self.others) > 3 else ""
        threads = plural(sum(t.count for t in self.others), "other thread")
        there = f"{threads} ({', '.join(named)}{more})"
        if self.cpu_fraction is None:
            return f"the profile does not contain {there}, and their CPU time is unknown"
        part = f"{show_percent(self.cpu_fraction)} of the CPU time"
        if self.most:
            return f"most of the program is not in this profile: {part} is in {there}"
        return f"the profile does not contain {there}, with {part}"

    @property
    def limitation(self) -> str:
        """The same, and its effect on the numbers of a study."""
        return f"{self.words}; all times and speedups are of the profiled thread"


class Document(_Part):
    """The fields of a profile: blocks, edges, memory, functions and the data between them."""

    format: Literal["dse profile"] = "dse profile"
    version: Literal[4] = 4
    program: Program
    settings: Settings
    run: Run
    functions: tuple[Function, ...]
    transfers: tuple[Transfer, ...]
    transfers_into: tuple[Transfer, ...] = Field(
        description="bytes that entered a function and its callees"
    )
    transfers_out: tuple[Transfer, ...] = Field(
        description="bytes that left a function and its callees"
    )
    fetched: tuple[Transfer, ...] = Field(
        default=(),
        description="bytes that entered a function and its callees, which keep them from then on",
    )
    returned: tuple[Transfer, ...] = Field(
        default=(),
        description="bytes that left a function and its callees, for readers that keep them",
    )
    call_tree: tuple[Context, ...]
    recursions: tuple[Recursion, ...] = Field(
        default=(), description="calls that the call tree counts at a context above the caller's"
    )
    blocks: tuple[Block, ...]
    edges: tuple[Edge, ...]
    calls: tuple[Call, ...] = Field(description="calls that happened")
    registers: tuple[Register, ...] = Field(description="values between blocks that ran")
    accesses: tuple[Access, ...] = Field(
        description="loads and stores of blocks that ran; for the library, accesses that happened"
    )
    reads: tuple[Read, ...] = ()
    crossings: tuple[Crossing, ...]
    chains: tuple[Chain, ...] = ()
    lines: tuple[SourceLine, ...] = Field(
        default=(),
        description="the lines in which blocks that ran begin; none if the sources are not known",
    )
    unaccounted: Unaccounted
    threads: Threads | None = Field(
        default=None, description="the threads that were not profiled; null: only one thread ran"
    )
    notes: tuple[str, ...] = ()

    @property
    def texts(self) -> dict[tuple[str, int], str]:
        """The lines of the source, by file and number."""
        return {(each.file, each.line): each.text for each in self.lines}

    @property
    def names(self) -> tuple[str, ...]:
        """The functions' names."""
        return tuple(function.name for function in self.functions)
