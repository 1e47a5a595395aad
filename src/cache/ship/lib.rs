//! Packs between machines: what a farm sends, a distribution ships, and a user accepts.
//!
//! [`transport`] is the compressed form of a pack, [`delta`] the difference of two, [`trust`] says whose packs are accepted, and
//! [`install`] adds them to a cache or to the system. With the feature `sign`, `sign` makes keys and signatures. A driver has none of this: it reads the packs that a cache lists, by
//! their roots (`dovetail-pack`).

pub mod delta;
pub mod install;
#[cfg(feature = "sign")]
pub mod sign;
pub mod transport;
pub mod trust;

#[cfg(test)]
mod tests;
