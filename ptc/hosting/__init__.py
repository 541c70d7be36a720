"""Loading and running artifacts with NumPy alone. Never imports torch."""
