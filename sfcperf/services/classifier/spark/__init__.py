"""The engine `spark`: MLlib trains, Structured Streaming classifies."""
