//! The compiled programs with their maps, as the build makes them.

#![allow(
    clippy::all,
    missing_docs,
    dead_code,
    unused_imports,
    non_snake_case,
    non_camel_case_types,
    reason = "written by libbpf-cargo"
)]

include!(concat!(env!("OUT_DIR"), "/evidence.skel.rs"));
