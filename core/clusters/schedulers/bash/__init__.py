"""The `none` cluster as a scheduler: bash runs each script at once, inside this process."""
