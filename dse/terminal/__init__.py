"""What the command line shows, at any width.

* `terminal`: progress, summaries, explanations
* `best`: the best designs side by side
* `listing`: models and catalogs
* `shown`: texts of users, without what a terminal would obey
"""

from dse.terminal.terminal import Terminal, explanation_data

__all__ = ["Terminal", "explanation_data"]
