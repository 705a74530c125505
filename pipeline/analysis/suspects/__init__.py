"""Tasks to distrust, one module a reason."""
