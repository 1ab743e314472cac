"""Stub."""

from sklearn.base import BaseEstimator


class QuadBoostRegressor(BaseEstimator):
    def __init__(self, estimator=None, **kw):
        pass
