"""The controllers of our kinds: what they watch, what they may do, and how a plan comes of what they see."""
