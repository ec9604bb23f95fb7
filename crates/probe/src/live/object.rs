//! The compiled programs with their maps, as the build makes them.

#![allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::unwrap_used,
    missing_docs,
    dead_code,
    unused_imports,
    non_snake_case,
    non_camel_case_types,
    reason = "written by libbpf-cargo"
)]

include!(concat!(env!("OUT_DIR"), "/watch.skel.rs"));
