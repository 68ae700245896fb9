"""The output of the command line, at any width.

* `terminal`: progress, summaries, explanations
* `best`: the best designs next to each other
* `listing`: models and catalogs
* `status`: the progress of a run
* `shown`: texts of users, without control characters that a terminal obeys
"""

from dse.terminal.terminal import Terminal, explanation_data

__all__ = ["Terminal", "explanation_data"]
