"""The other end: datasets → materialized inputs → rollouts."""
