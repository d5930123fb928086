"""From a job request to a plan, a script, a journal entry and a submission, exactly once."""
