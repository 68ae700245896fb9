"""Models: plain annotated functions over arrays, one paper a module. The engine does not import them."""
