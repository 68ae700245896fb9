"""Settings for every test: doctests print plain numbers."""

import numpy as np

np.set_printoptions(legacy="1.25")
