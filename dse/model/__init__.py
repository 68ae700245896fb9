"""The contract of a model: the meaning of a quantity, and the declarations of a model function.

* `quantity`: `Quantity` and `Resource`, the declarations of one input or output;
* `signature`: the inputs and outputs that a function declares, with its records laid flat;
* `decorators`: `model` and `composed_of`, which make a function callable as a model;
* `declarations`: `monotonic`, `lower_bound` and `requires`: how outputs depend on inputs, and
  relations that must hold (`ModelRequirement`); contradictions of a declaration, in words;
* `contract`: a `Model` read from an annotated function, and errors that break the contract;
* `grammar`: conditions and comparisons in relations, targets and filters: from text to a tree and
  back, the parts of the tree, and places of problems;
* `dimension`: the units of comparisons: conversion, scales and powers of the clock;
* `relation`: comparisons of arrays, and values of expressions; `filter`: conditions on columns;
* `units`: texts with units: reading, conversion factors, scaling, and misspelt units;
* `values`: values as text for people (digits, prefixes, percent, lists of words) and as JSON;
* `section`: a part of the report that a model adds, as data: tables and charts, with the study's
  `Objective`s as it sees them;
* `testing`: `check_model`, which checks any model against the contract;
* `pairs`: sampled pairs of inputs that support or contradict a declaration or a lower bound.
"""

from dse.model.contract import Model
from dse.model.declarations import Requirement, lower_bound, monotonic, requires
from dse.model.decorators import composed_of, model
from dse.model.quantity import Array, Floats, Quantity, Resource
from dse.model.signature import list_declarations

__all__ = [
    "Array",
    "Floats",
    "Model",
    "Quantity",
    "Requirement",
    "Resource",
    "composed_of",
    "list_declarations",
    "lower_bound",
    "model",
    "monotonic",
    "requires",
]
