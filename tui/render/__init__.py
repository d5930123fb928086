"""Pure functions from the engine's values to lines of styled text; they use no terminal."""
