"""What can be predicted: families of outputs over parts, with the inference they allow."""
