"""Settings for every test: doctests print plain numbers, and each process works on one core."""

import os

# There is a process for each core. If each had threads for linear algebra as well, they would wait
# for each other busily: guided searches then take ten times the processor.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402 - it reads them once

np.set_printoptions(legacy="1.25")
