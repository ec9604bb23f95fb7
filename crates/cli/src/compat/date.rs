//! The time as `date` prints it.

/// Now, in the local time zone: `Tue Jan 26 16:24:26 PST 2021`.
pub fn now() -> String {
    jiff::Zoned::now().strftime("%a %b %e %H:%M:%S %Z %Y").to_string()
}
