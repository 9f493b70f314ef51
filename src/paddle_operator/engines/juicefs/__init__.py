"""The JuiceFS engine."""
