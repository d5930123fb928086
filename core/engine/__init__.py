"""What screens ask of a project: the interface and the engines behind it.

`api` defines the questions and answers, `local` answers in this process, `process` answers from a
process of its own, and `recording` stores and replays answers.
"""
