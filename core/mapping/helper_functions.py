"""The object `helpers` of expressions."""

from __future__ import annotations

PURE_HELPERS: frozenset[str] = frozenset(
    "input_size get_input_size get_input_datasets get_input_dataset get_dataset_size "
    "calculate_dataset_total get_dataset_attributes job_args_match tag_values_match "
    "tool_version_eq tool_version_lt tool_version_lte tool_version_gt tool_version_gte "
    "get_tool_resource_field wait try_next try_next_or_wait".split()
)
HELPERS: frozenset[str] = PURE_HELPERS | frozenset(
    "weighted_random_sampling weighted_choice concurrent_job_count_for_tool expected_wait "
    "free_cores".split()
)
