"""The test of a model against its contract: `check_model`, for tests of your models."""

from dse.model.testing import check_model

__all__ = ["check_model"]
