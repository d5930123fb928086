"""Every combination of flow, sharing, place and event: do all commands and views agree?

`python -m tests.seams` runs all of them, `test_seams.py` a selection in which each pair of values
occurs. A `Combination` names a project (`projects.py`) and what happens in it (`scenarios.py`). At
each moment of a scenario, `facts.py` collects what every command and every view states, and
`checker.py` compares the statements. A statement that two sources make differently is a
`Contradiction`, and so is one that breaks a law: nothing ran twice or before its inputs.
"""
