"""What a machine is made of: engines, interfaces and their areas.

* :func:`engine`: clock, lanes and area of a C-slowed engine (:mod:`objectives.machine.engine`);
* :func:`attach`: what a call costs behind an interface (:mod:`objectives.machine.interface`);
* :func:`total_area`: the area of all of it (:mod:`objectives.machine.area`).
"""

from objectives.machine.area import Area, total_area
from objectives.machine.engine import Engine, engine
from objectives.machine.interface import Attachment, attach, call_buffer, call_cost

__all__ = [
    "Area",
    "Attachment",
    "Engine",
    "attach",
    "call_buffer",
    "call_cost",
    "engine",
    "total_area",
]
