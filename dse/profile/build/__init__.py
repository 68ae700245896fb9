"""The part of the build that turns sources into an instrumented program."""
