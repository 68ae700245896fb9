"""Models: plain annotated functions over arrays, one paper a module; the engine imports none."""
