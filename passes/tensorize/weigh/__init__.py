"""The ways to call microkernels for a nest, what each costs, and the cheapest."""
