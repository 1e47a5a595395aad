//! Upper-level IR to lower-level IR: one pass a file, each a decision table of what is known and what is not.
