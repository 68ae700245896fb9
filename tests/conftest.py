"""What holds for every test: properties are tried on the same examples each time, however slow."""

from hypothesis import settings

settings.register_profile("dse", derandomize=True, deadline=None)
settings.load_profile("dse")
