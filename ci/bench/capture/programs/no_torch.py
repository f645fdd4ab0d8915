"""A program that captures nothing."""

print("hello")
