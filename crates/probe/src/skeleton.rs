//! The code that libbpf-cargo generates from a compiled program: its maps, their types, and how
//! it is loaded.

/// The contents of a module for one generated file.
macro_rules! skeleton {
    ($file:literal) => {
        #[allow(
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
        mod written {
            include!(concat!(env!("OUT_DIR"), $file));
        }
        pub use written::*;
    };
}

pub(crate) use skeleton;
