//! What a kernel's description of itself says of its tracepoints.

use libbpf_rs::btf::types::{FuncProto, Ptr, Typedef};
use libbpf_rs::btf::{Btf, ReferencesType};

/// How many arguments a tracepoint hands over, its context among them; none where the kernel lacks
/// it.
pub(crate) fn arguments(btf: &Btf, name: &str) -> Option<usize> {
    let typedef: Typedef = btf.type_by_name(&format!("btf_trace_{name}"))?;
    let pointer: Ptr = typedef.referenced_type().try_into().ok()?;
    let proto: FuncProto = pointer.referenced_type().try_into().ok()?;
    Some(proto.iter().count())
}
