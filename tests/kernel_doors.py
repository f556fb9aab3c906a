"""Doors for the tests to kernels that only kernels call."""

from __future__ import annotations

from numba import njit

from fedbn.scores import _joint_kernels as scores


@njit
def joint(t, members, k):
    return scores.joint(t, members, k)


@njit
def joint_pairs(t, y, parents, k, xs, m, full, part):
    scores.joint_pairs(t, y, parents, k, xs, m, full, part)
