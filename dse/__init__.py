"""Design-space exploration for hardware accelerators."""
