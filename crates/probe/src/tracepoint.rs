//! What the kernel's type description (BTF) says about its tracepoints.

use libbpf_rs::btf::types::{FuncProto, Ptr, Typedef};
use libbpf_rs::btf::{Btf, ReferencesType};

/// Number of arguments that a tracepoint passes, with its context; None if the kernel has no such
/// tracepoint.
pub(crate) fn arguments(btf: &Btf, name: &str) -> Option<usize> {
    let typedef: Typedef = btf.type_by_name(&format!("btf_trace_{name}"))?;
    let pointer: Ptr = typedef.referenced_type().try_into().ok()?;
    let proto: FuncProto = pointer.referenced_type().try_into().ok()?;
    Some(proto.iter().count())
}
