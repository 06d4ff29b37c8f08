"""How the parts of an output get their scores from the input and the weights."""
