"""Job request -> plan -> script -> journal -> submit, exactly once."""
