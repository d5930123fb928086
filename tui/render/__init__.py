"""Pure functions from the engine's values to lines of styled text; no terminal in sight."""
