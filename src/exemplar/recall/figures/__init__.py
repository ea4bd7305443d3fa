"""Pictures from scores."""
