"""How far the crypto study's models are from the simulation of the whole system: a table.

    python -m benchmarks.system

Off by more than 3 % is simulated again, longer; what remains is the models'.
"""

import pandas as pd

from tests.system_designs import PREDICTED, deviations, deviations_of_designs, predicted
from tests.test_system_crypto import GRANULARITY, feasible, front, harsh, study


def main() -> None:
    hard = harsh(30, seed=1)
    tables = {
        "30 of the front": deviations_of_designs(study(), front(), GRANULARITY),
        "30 feasible designs": deviations_of_designs(study(), feasible(), GRANULARITY),
        "30 systems of all kinds": deviations(hard, predicted(study(), hard, PREDICTED)),
    }
    rows = {
        (of, name): (100 * table[name].abs().mean(), 100 * table[name].abs().max())
        for of, table in tables.items()
        for name in PREDICTED
    }
    print(pd.DataFrame(rows, index=["mean %", "worst %"]).T.round(2).to_string())
    for of, table in tables.items():
        print(f"{of}: at least {table['carried'].min():.2%} of the offered calls are carried")


if __name__ == "__main__":
    main()
