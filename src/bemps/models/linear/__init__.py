"""Linear models on frozen features, in NumPy: spectral features, logistic regression, Laplace posterior."""
