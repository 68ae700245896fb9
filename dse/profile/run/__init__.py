"""The run of an instrumented program, and what its numbers come to."""
