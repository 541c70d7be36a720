"""From a user's model file to a callable with entries, weights and example inputs."""
