"""What `inarch bench` measures: models, and single layers."""
