//! Finds a CPU's own variables by the kernel's type description (BTF). Programs may name such a
//! variable only if /proc/kallsyms lists variables; this works without that.

use libbpf_rs::btf::types::{DataSec, Struct, Var};
use libbpf_rs::btf::{Btf, BtfType};

/// The section of the variables that each CPU has its own copy of.
const SECTION: &str = ".data..percpu";

/// Distance from the run queue of a CPU to its interrupt depth, in bytes. None if the kernel does
/// not describe both, and on machines where the depth is not a variable of the CPU.
pub fn depth_behind_queue(btf: &Btf) -> Option<i64> {
    let section = btf.type_by_name::<DataSec>(SECTION)?;
    let at = |name: &str| {
        section.iter().find_map(|one| {
            let var = Var::try_from(btf.type_by_id::<BtfType>(one.ty)?).ok()?;
            (var.name()? == name).then_some(i64::from(one.offset))
        })
    };
    let depth = at("__preempt_count").or_else(|| Some(at("pcpu_hot")? + in_pcpu_hot(btf)?))?;
    Some(depth - at("runqueues")?)
}

/// Linux 6.2 to 6.14 keep the depth in this structure.
fn in_pcpu_hot(btf: &Btf) -> Option<i64> {
    // Its first member is an unnamed union with one structure.
    let hot = btf.type_by_name::<Struct>("pcpu_hot")?;
    member(btf, hot.iter().next()?.ty)
}

fn member(btf: &Btf, ty: libbpf_rs::btf::TypeId) -> Option<i64> {
    use libbpf_rs::btf::types::{Composite, MemberAttr};
    let of = Composite::try_from(btf.type_by_id::<BtfType>(ty)?).ok()?;
    of.iter().find_map(|one| {
        let MemberAttr::Normal { offset } = one.attr else { return None };
        let offset = i64::from(offset / 8);
        match one.name.and_then(|name| name.to_str()) {
            Some("preempt_count") => Some(offset),
            Some(_) => None,
            None => Some(offset + member(btf, one.ty)?),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_depth_of_interrupts_is_found_where_this_kernel_describes_it() {
        let Ok(btf) = Btf::from_vmlinux() else {
            testing::skipped(format_args!("this kernel does not describe its types"));
            return;
        };
        let has_queue = btf.type_by_name::<Var<'_>>("runqueues").is_some();
        let is_of_cpu = cfg!(target_arch = "x86_64");
        assert_eq!(depth_behind_queue(&btf).is_some(), has_queue && is_of_cpu);
    }
}
