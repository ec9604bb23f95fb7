//! The compiled programs with their maps, as build.rs generates them.

crate::skeleton::skeleton!("/evidence.skel.rs");
