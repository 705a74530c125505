"""The servers: an environment, its agents and the model they ask, in one process."""
