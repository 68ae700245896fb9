"""Studies: from a file to something that can be evaluated, with every problem told at once."""
