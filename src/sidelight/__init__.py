"""Learn to predict structures from a few labels and whatever else is known about them."""

__version__ = "0.1.0.dev0"
