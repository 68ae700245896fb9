"""Catalogs: interfaces, platforms and kernels as TOML, with the source of each value."""
