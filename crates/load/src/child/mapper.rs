//! The mapper: the process whose calls of mmap and munmap the readers of /proc may block.

use super::control::{self, Order};
use super::failure::failure;
use super::line::Line;
use crate::histogram;
use crate::live::{LivePage, STALL_NS};
use crate::protocol::{Failure, FailureKind, MapperReport, Message, Ready, Report, StallSeen};
use clap::Args;
use hdrhistogram::Histogram;
use os::time;
use os::time::now_ns;
use os::user::User;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::thread::{ClockId, clock_nanosleep_relative};
use std::num::NonZeroU64;
use std::time::Duration;

/// Number of stalls that are kept one by one. Further stalls are only counted.
const MOST_STALLS: usize = 1000;

/// Untimed calls before the first timed call.
const WARM_UP: u32 = 256;

/// Options of a mapper.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct MapperArgs {
    /// Size of the region in bytes, rounded to whole pages
    #[arg(long, conflicts_with = "mb")]
    pub bytes: Option<u64>,
    /// Size of the region in MiB
    #[arg(long)]
    pub mb: Option<u64>,
    /// How long to work, in milliseconds
    #[arg(long, default_value_t = 10_000)]
    pub duration_ms: u64,
    /// Pause after each call, in microseconds; 0 for no pause
    #[arg(long, default_value_t = 10)]
    pub pause_us: u64,
    /// CPU to pin the mapper to; no pinning if absent
    #[arg(long)]
    pub cpu: Option<u32>,
    /// Seed for the random choice of pages
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Be the idle twin of a mapper that made this number of calls; the twin's region is split in
    /// the same way
    #[arg(long)]
    pub twin: Option<u64>,
    /// Descriptor of the live page; none if absent
    #[arg(long)]
    pub live_fd: Option<i32>,
    /// Process whose death ends the mapper; none if absent
    #[arg(long)]
    pub parent: Option<u32>,
}

impl MapperArgs {
    /// A mapper with the given region, duration and pause, and defaults for the rest.
    pub fn new(bytes: u64, duration: Duration, pause: Duration) -> Self {
        MapperArgs {
            bytes: Some(bytes),
            mb: None,
            duration_ms: time::whole_ms(duration),
            pause_us: time::whole_us(pause),
            cpu: None,
            seed: 0,
            twin: None,
            live_fd: None,
            parent: None,
        }
    }

    /// The command line for these options.
    pub fn to_args(&self) -> Vec<String> {
        let mut line = Line::of("mapper");
        line.put("bytes", self.bytes);
        line.put("mb", self.mb);
        line.put("duration-ms", Some(self.duration_ms));
        line.put("pause-us", Some(self.pause_us));
        line.put("cpu", self.cpu);
        line.put("seed", Some(self.seed));
        line.put("twin", self.twin);
        line.put("live-fd", self.live_fd);
        line.put("parent", self.parent);
        line.words()
    }

    /// Size of the region in bytes, before rounding to whole pages.
    pub fn region_bytes(&self) -> u64 {
        self.bytes.or(self.mb.map(|mb| mb.saturating_mul(1 << 20))).unwrap_or(128 << 20)
    }
}

/// The region, mapped and populated.
pub struct Mapper {
    start: usize,
    pages: usize,
    page_size: usize,
    rng: SmallRng,
    work: Work,
}

/// The record of the calls. It is created before the first call.
pub struct Work {
    window_ns: u64,
    mmap: Histogram<u64>,
    munmap: Histogram<u64>,
    sum_ns: u64,
    stalls: Vec<StallSeen>,
    last: Option<StallSeen>,
}

pub(super) fn serve(args: &MapperArgs, user: Option<User>) -> Result<(), Failure> {
    if !control::die_with(args.parent) || !control::step_down(user, args.parent)? {
        return Ok(());
    }
    // The readers run as the same user, and they must be able to read this process.
    os::user::be_readable().map_err(|e| failure("mapper", e))?;
    let live = open_live(args.live_fd)?;
    let mut mapper = Mapper::set_up(args)?;
    mapper.warm_up()?;
    mapper.split(args.twin.unwrap_or(0))?;
    let ready = Ready { pid: std::process::id(), workers: 1, region: mapper.region() };
    if control::send(&Message::Ready(ready)).is_err() || control::wait_for_order() == Order::Stop {
        return Ok(());
    }
    mapper.work(args, &live)?;
    control::send_done();
    let report = Report::Mapper(mapper.report(&live));
    control::send(&Message::Report(report)).map_err(|e| failure("report of the mapper", e))
}

fn open_live(fd: Option<i32>) -> Result<LivePage, Failure> {
    let page = fd.map_or_else(LivePage::create, LivePage::inherited);
    page.map_err(|e| failure("live page of the mapper", e))
}

impl Mapper {
    /// Pins the process, sets its timer slack, and maps and populates the region.
    ///
    /// # Errors
    /// If the CPU cannot be used or the region does not fit.
    pub fn set_up(args: &MapperArgs) -> Result<Self, Failure> {
        // ps and probes show this name. Nothing depends on it.
        let name = if args.twin.is_some() { c"twin" } else { c"mapper" };
        let _ = rustix::thread::set_name(name);
        if let Some(cpu) = args.cpu {
            os::pin::pin(cpu).map_err(|e| failure(format!("mapper on CPU {cpu}"), e))?;
        }
        // The default slack of 50 us would set the pace of the mapper, instead of the requested
        // pause.
        let slack = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        slack.map_err(|e| failure("timer slack of the mapper", e.into()))?;
        let page_size = rustix::param::page_size();
        let pages = usize::try_from(args.region_bytes()).unwrap_or(usize::MAX) / page_size;
        if pages == 0 {
            return Err(too_small(page_size));
        }
        let start = map_region(pages * page_size)?;
        let rng = SmallRng::seed_from_u64(args.seed);
        Ok(Mapper { start, pages, page_size, rng, work: Work::new() })
    }

    /// Makes some untimed calls, so that the code and the memory of the loop are faulted in. A
    /// page fault takes the lock that is measured.
    ///
    /// # Errors
    /// If the kernel refuses a call.
    pub fn warm_up(&mut self) -> Result<(), Failure> {
        for _ in 0..WARM_UP {
            let (page, map) = self.choose();
            let before = now_ns();
            self.call(page, map).map_err(|e| refused(map, e))?;
            self.work.note(map, 0, now_ns() - before);
            sleep(Duration::from_nanos(1));
        }
        self.work.clear();
        Ok(())
    }

    /// Makes `calls` calls at once. They split the region in the same way as the mapper's work
    /// does.
    ///
    /// # Errors
    /// If the kernel refuses a call.
    pub fn split(&mut self, calls: u64) -> Result<(), Failure> {
        for _ in 0..calls {
            let (page, map) = self.choose();
            self.call(page, map).map_err(|e| refused(map, e))?;
        }
        Ok(())
    }

    /// A random page, and whether to map it or to unmap it.
    #[inline]
    fn choose(&mut self) -> (usize, bool) {
        let page = self.start + self.rng.random_range(0..self.pages) * self.page_size;
        (page, self.rng.random())
    }

    #[inline]
    fn call(&self, page: usize, map: bool) -> rustix::io::Result<()> {
        if map { map_page(page, self.page_size) } else { unmap(page, self.page_size) }
    }

    /// Start address of the region.
    pub fn region(&self) -> u64 {
        self.start as u64
    }

    /// Maps and unmaps random single pages until the duration is over.
    ///
    /// # Errors
    /// If the kernel refuses a call. It does so above `vm.max_map_count` mappings.
    pub fn work(&mut self, args: &MapperArgs, live: &LivePage) -> Result<(), Failure> {
        let counters = live.counters();
        let pause = Duration::from_micros(args.pause_us);
        let began = now_ns();
        let end = began.saturating_add(args.duration_ms.saturating_mul(1_000_000));
        let mut now = began;
        while now < end {
            let (page, map) = self.choose();
            let before = now_ns();
            counters.begin(before);
            let done = self.call(page, map);
            now = now_ns();
            done.map_err(|e| refused(map, e))?;
            counters.end(now - before);
            self.work.note(map, before - began, now - before);
            if !pause.is_zero() {
                sleep(pause);
                now = now_ns();
            }
        }
        self.work.window_ns = now - began;
        Ok(())
    }

    /// The report on the work. `live` is the page that was used.
    pub fn report(self, live: &LivePage) -> MapperReport {
        self.work.report(live)
    }
}

impl Default for Work {
    fn default() -> Self {
        Self::new()
    }
}

impl Work {
    /// An empty record in memory that is already faulted in.
    pub fn new() -> Self {
        let mut work = Work {
            window_ns: 0,
            mmap: histogram::empty(),
            munmap: histogram::empty(),
            sum_ns: 0,
            stalls: vec![StallSeen { at_ns: 1, took_ns: 1, map: true }; MOST_STALLS],
            last: None,
        };
        work.clear();
        work
    }

    fn clear(&mut self) {
        self.mmap.reset();
        self.munmap.reset();
        self.sum_ns = 0;
        self.stalls.clear();
        self.last = None;
    }

    /// Records one call. The time of this function is not part of any call, but it delays the next
    /// one.
    #[inline]
    pub fn note(&mut self, map: bool, at_ns: u64, took_ns: u64) {
        histogram::record(if map { &mut self.mmap } else { &mut self.munmap }, took_ns);
        self.sum_ns += took_ns;
        let seen = StallSeen { at_ns, took_ns, map };
        self.last = Some(seen);
        if took_ns > STALL_NS && self.stalls.len() < MOST_STALLS {
            self.stalls.push(seen);
        }
    }

    fn report(self, live: &LivePage) -> MapperReport {
        let snapshot = live.counters().snapshot();
        MapperReport {
            window_ns: self.window_ns,
            maps: self.mmap.len(),
            unmaps: self.munmap.len(),
            sum_ns: self.sum_ns,
            worst_ns: snapshot.worst_ns,
            stalled_ns: snapshot.stalled_ns,
            over: snapshot.over,
            mmap: histogram::encode(&self.mmap),
            munmap: histogram::encode(&self.munmap),
            stalls: self.stalls,
            last: self.last,
        }
    }
}

fn map_region(length: usize) -> Result<usize, Failure> {
    let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let region = unsafe { mmap_anonymous(std::ptr::null_mut(), length, ProtFlags::WRITE, flags) };
    match region {
        Ok(region) => Ok(region as usize),
        Err(error) => Err(Failure {
            kind: FailureKind::Unusable,
            what: format!(
                "mapper: a region of {} MiB: {}",
                length >> 20,
                std::io::Error::from(error)
            ),
        }),
    }
}

fn map_page(page: usize, page_size: usize) -> rustix::io::Result<()> {
    let flags = MapFlags::PRIVATE | MapFlags::POPULATE | MapFlags::FIXED;
    // SAFETY: the page is in the mapper's own region, and nothing refers to it.
    unsafe { mmap_anonymous(page as *mut _, page_size, ProtFlags::WRITE, flags) }.map(|_| ())
}

fn unmap(page: usize, page_size: usize) -> rustix::io::Result<()> {
    // SAFETY: the page is in the mapper's own region, and nothing refers to it.
    unsafe { munmap(page as *mut _, page_size) }
}

fn sleep(pause: Duration) {
    // An interrupted pause is only shorter. Nothing depends on its exact length.
    if let Ok(pause) = rustix::time::Timespec::try_from(pause) {
        let _ = clock_nanosleep_relative(ClockId::Monotonic, &pause);
    }
}

fn too_small(page_size: usize) -> Failure {
    Failure {
        kind: FailureKind::Unusable,
        what: format!("mapper: the region is smaller than a page of {page_size} bytes"),
    }
}

fn refused(map: bool, error: rustix::io::Errno) -> Failure {
    let call = if map { "mmap" } else { "munmap" };
    let hint = match error {
        rustix::io::Errno::NOMEM => {
            "; the region has split into more mappings than vm.max_map_count allows: raise that \
             sysctl or take a smaller region"
        }
        _ => "",
    };
    let what = format!("mapper: {call} of a page: {}{hint}", std::io::Error::from(error));
    Failure { kind: FailureKind::System, what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_the_region_is_unmapped_and_mapped_again() {
        let page = rustix::param::page_size();
        let region = map_region(4 * page).unwrap();
        for _ in 0..3 {
            unmap(region + page, page).unwrap();
            map_page(region + page, page).unwrap();
        }
        unmap(region, 4 * page).unwrap();
    }
}
