#version 450
// Writes nothing, discards nothing: the pixels' depth is all that a pass wants.
void main() {}
