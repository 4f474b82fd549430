"""Members from scikit-learn classifiers."""
