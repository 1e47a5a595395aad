#version 450
// Writes and discards nothing: a depth-only pass.
void main() {}
