"""The output of the command line, at any width.

* `terminal`: progress, summaries with the best designs, explanations
* `fields`: short answers, one labelled field per line
* `documents`: the JSON of each command, and its schema
* `listing`: models and catalogs
* `layout`: lines and texts of users
"""

from dse.terminal.terminal import Terminal

__all__ = ["Terminal"]
