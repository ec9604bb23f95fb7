//! Compiles the programs for the kernel if the feature `bpf` is on.

#[cfg(feature = "bpf")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use libbpf_cargo::SkeletonBuilder;
    use std::path::PathBuf;

    println!("cargo:rerun-if-changed=src/bpf");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // The folder of this machine stays out of the line information.
    let renamed = format!("-ffile-prefix-map={}=.", std::env::var("CARGO_MANIFEST_DIR")?);
    for name in ["evidence", "calls", "nothing", "nothing_watch", "watch"] {
        SkeletonBuilder::new()
            .source(format!("src/bpf/{name}.bpf.c"))
            .clang_args(["-Wall", "-Werror", "-Isrc/bpf", renamed.as_str()])
            .build_and_generate(out.join(format!("{name}.skel.rs")))
            .map_err(|error| {
                format!(
                    "{name}.bpf.c: {error:#}; install clang and libelf-dev, or build without the \
                     probes: --no-default-features"
                )
            })?;
    }
    Ok(())
}

#[cfg(not(feature = "bpf"))]
fn main() {}
