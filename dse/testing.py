"""What holds a model to its contract: `check_model`, for tests of models of one's own."""

from dse.model.testing import check_model

__all__ = ["check_model"]
