//! The compiled programs with their maps, as the build makes them.

crate::skeleton::skeleton!("/watch.skel.rs");
