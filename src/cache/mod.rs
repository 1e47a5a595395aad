//! A content-addressed store: bytes under keys, checked by digest.
