"""The level-triggered loop, for any kind: what to look at again, who does it, and who may."""
