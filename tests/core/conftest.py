"""Hypothesis runs a fixed, seeded sample in `make test` and the full counts in `make torture`."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("test", max_examples=300, derandomize=True, deadline=None)
settings.register_profile(
    "torture", max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))
