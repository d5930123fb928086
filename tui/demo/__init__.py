"""The controls of a demo or a recording.

Takes the engine's played time, gives a clock, a speed and the first steps on the screen. The events
come from `core/demo` or `core/engine/recording`.
"""
