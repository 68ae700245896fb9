"""Independent programs that tests compare the models with."""
