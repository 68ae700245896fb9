"""Tests; a package, so that they share examples and helpers."""
