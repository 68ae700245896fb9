"""The output of the command line, at any width.

* `terminal`: progress, the status of a run, and each answer in full
* `fields`: summaries of runs, plans and explanations: a labelled field per line, and tables
* `documents`: the JSON document of each command, and its schema
* `listing`: models and catalogs, as an overview or in detail
* `layout`: indented lines, times in words, and texts of users without markup
"""

from dse.terminal.terminal import Terminal

__all__ = ["Terminal"]
