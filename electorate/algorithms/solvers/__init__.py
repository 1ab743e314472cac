"""Solvers of the linear and quadratic programs of totally corrective boosting."""
