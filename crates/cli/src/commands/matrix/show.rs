//! The output of a matrix: a table and the boundaries, JSON, a page, a regression report.

use super::flags::Matrix;
use super::ladder::complaints;
use super::row::Row;
use crate::exit::Failure;
use crate::session::Session;
use crate::{output, paths};
use model::Meta;
use model::ladder::Ladder;
use report::Shown;
use report::export::ktap::{self, Test, Undecided};
use report::export::mail;
use report::prose::ladder as prose;
use std::path::{Path, PathBuf};

/// Size limit of a kernel configuration that is written beside a report, in bytes.
const LONGEST_CONFIG: u64 = 4 << 20;

/// The paths of the requested files.
pub struct Files {
    page: Option<PathBuf>,
    mail: Option<PathBuf>,
}

impl Files {
    /// The paths in the flags.
    ///
    /// # Errors
    /// If a file cannot be written, or makes no sense for this scenario. This is checked before
    /// anything is measured.
    pub fn of(session: &Session, flags: &Matrix) -> Result<Self, Failure> {
        if flags.mail.is_some() {
            mail::is_of_the_kernel(&flags.scenario)?;
        }
        if flags.mail.is_some() && flags.mail == flags.page {
            return Err(Failure::usage(
                "--mail and --page name the same file; give each its own file",
            ));
        }
        let file = |flag: &str, named: &Option<PathBuf>| {
            named.as_ref().map(|named| paths::for_page(session, flag, named)).transpose()
        };
        Ok(Files { page: file("--page", &flags.page)?, mail: file("--mail", &flags.mail)? })
    }
}

/// Shows everything. Returns the exit code if the output is for a test runner.
///
/// # Errors
/// If a file cannot be made or written.
pub fn all(
    session: &Session,
    meta: &Meta,
    rows: &[Row],
    ladder: &Ladder,
    flags: &Matrix,
    files: &Files,
) -> Result<Option<u8>, Failure> {
    let mut code = None;
    if let Some(undecided) = flags.ktap.wanted() {
        let (text, of_tests) = as_ktap(meta, rows, ladder, undecided);
        session.out.print(&text);
        code = Some(of_tests);
    } else if flags.json {
        let rows: Vec<serde_json::Value> = rows.iter().map(|row| row.json(meta)).collect();
        let table = serde_json::json!({
            "schema": "tailback/matrix/1",
            "scenario": meta.id,
            "rows": rows,
            "ladder": ladder,
        });
        session.out.value(&table);
    } else if flags.markdown {
        let shown = shown(meta, rows, ladder);
        let said = conclusions(meta, rows, ladder);
        session.out.print(&report::matrix_markdown(shown, &said));
    } else {
        let look = output::look();
        session.out.print(&report::matrix(shown(meta, rows, ladder), look));
        session.out.print(&report::below_matrix(&conclusions(meta, rows, ladder), look));
    }
    for line in rows.iter().filter_map(|row| row.failure(meta)) {
        output::complain(&line);
    }
    if flags.expect {
        if rows.iter().all(|row| !row.has_expectation()) {
            output::complain(
                "--expect: vm/versions.toml has no expectation for these versions and parameters",
            );
        }
        for row in rows.iter().filter(|row| row.is_unexpected()) {
            output::complain(&row.complaint());
        }
        complaints(ladder).iter().for_each(|line| output::complain(line));
    }
    crate::ktap::after_tests(code, write(session, &runs(meta, rows), ladder, files, rows))
}

/// Writes the requested files.
fn write(
    session: &Session,
    runs: &[Shown],
    ladder: &Ladder,
    files: &Files,
    rows: &[Row],
) -> Result<(), Failure> {
    files.page.as_ref().map_or(Ok(()), |path| draw(session, runs, ladder, path))?;
    let report = |path| report_regression(session, runs, ladder, path, rows);
    files.mail.as_ref().map_or(Ok(()), report)
}

/// The versions as tests, with the conclusions as comments below them. Also returns the exit code.
fn as_ktap(meta: &Meta, rows: &[Row], ladder: &Ladder, undecided: Undecided) -> (String, u8) {
    let tests: Vec<Test> = rows.iter().map(|row| test(row, meta)).collect();
    let said = conclusions(meta, rows, ladder);
    let said: String = said.iter().map(|line| format!("# {line}\n")).collect();
    (ktap::ktap(&tests, undecided) + &said, ktap::code(&tests, undecided))
}

/// A version as a test.
fn test<'a>(row: &'a Row, meta: &'a Meta) -> Test<'a> {
    let came = row.record().map(|record| Shown::new(record, Some(meta), row.name()));
    let instead = || row.instead().unwrap_or_default();
    Test { name: row.name().to_owned(), came: came.ok_or_else(instead) }
}

/// The lines below the table: the figure of the effects, the boundaries, and what the runs
/// without a stall would have shown.
fn conclusions(meta: &Meta, rows: &[Row], ladder: &Ladder) -> Vec<String> {
    let runs = rows.iter().filter_map(Row::record);
    let said = prose::followed(ladder, Some(meta)).into_iter().chain(prose::boundaries(ladder));
    said.chain(prose::shown_by_all(runs, Some(meta))).collect()
}

/// The rows for the table, each with the effect of the followed arm.
fn shown<'a>(
    meta: &'a Meta,
    rows: &'a [Row],
    ladder: &'a Ladder,
) -> impl Iterator<Item = report::Row> + 'a {
    let effects = ladder.rungs.iter().map(prose::effect);
    rows.iter().zip(effects).map(|(row, effect)| row.shown(effect, meta))
}

/// The records, by the names of their versions.
fn runs<'a>(meta: &'a Meta, rows: &'a [Row]) -> Vec<Shown<'a>> {
    let records = rows.iter().filter_map(|row| Some((row.name(), row.record()?)));
    records.map(|(name, record)| Shown::new(record, Some(meta), name)).collect()
}

fn draw(session: &Session, runs: &[Shown], ladder: &Ladder, path: &PathBuf) -> Result<(), Failure> {
    let page = report::html::ladder_page(ladder, runs)?;
    crate::page::write(session, &page, Some(path))?;
    output::note(&format!("page: {}", path.display()));
    Ok(())
}

/// Writes a regression report, and prints what is left to do before sending it. If there is no
/// report, prints why.
fn report_regression(
    session: &Session,
    runs: &[Shown],
    ladder: &Ladder,
    path: &PathBuf,
    rows: &[Row],
) -> Result<(), Failure> {
    let mail = match mail::mail(ladder, runs) {
        Ok(mail) => mail,
        Err(error) => {
            let old =
                if path.exists() { ", and the existing file is from another run" } else { "" };
            output::complain(&format!("{error}; {} is not written{old}", path.display()));
            return Ok(());
        }
    };
    crate::page::write(session, &mail.text, Some(path))?;
    output::note(&format!("mail: {}. Before you send it, read it and", path.display()));
    let attach = mail::to_attach(&keep_configs(session, path, &mail.kernels, rows));
    mail.before.iter().chain([&attach]).for_each(|line| output::note(&format!("  - {line}")));
    Ok(())
}

/// Writes the known configurations of two kernels beside a report that is a file. Returns their
/// paths. If a configuration is unknown or cannot be written, the sender has to add it.
fn keep_configs(
    session: &Session,
    report: &Path,
    kernels: &[String; 2],
    rows: &[Row],
) -> [Option<String>; 2] {
    let keep = |kernel: &str, which: &str| {
        let config = rows.iter().find(|row| row.name() == kernel)?.config()?;
        let bytes = os::file::read_start(config, LONGEST_CONFIG).ok()?;
        let whole = (bytes.len() as u64) < LONGEST_CONFIG;
        let text = whole.then(|| String::from_utf8_lossy(&bytes).into_owned())?;
        let path = paths::for_page(session, "--mail", &beside(report, which)?).ok()?;
        crate::page::write(session, &text, Some(&path)).ok()?;
        Some(path.display().to_string())
    };
    [(&kernels[0], "good"), (&kernels[1], "bad")].map(|(kernel, which)| {
        let kept = keep(kernel, which);
        if let (None, Some(old)) = (&kept, beside(report, which).filter(|path| path.exists())) {
            output::complain(&format!("{} is from another run: do not attach it", old.display()));
        }
        kept
    })
}

/// The path of a configuration beside a report: `report.txt.good.config`. None if the report goes
/// to standard output.
fn beside(report: &Path, which: &str) -> Option<PathBuf> {
    let mut name = report.as_os_str().to_owned();
    name.push(format!(".{which}.config"));
    (report.as_os_str() != "-").then(|| PathBuf::from(name))
}

#[cfg(test)]
mod tests {
    use super::super::row::Result as Came;
    use super::*;
    use flate2::read::GzDecoder;
    use guest::Ending;
    use model::{Facts, Judged};
    use snapbox::{assert_data_eq, file};
    use std::io::Read as _;

    /// The row of a golden record.
    fn measured(name: &str, packed: &[u8]) -> Row {
        let mut text = String::new();
        GzDecoder::new(packed).read_to_string(&mut text).unwrap();
        let record: Judged = scenarios::judged(Facts::from_json(&text).unwrap());
        let release = record.machine.kernel.clone();
        Row::of_kernel(name, &release, Came::Judged(Box::new(record)))
    }

    /// The ladder whose regression report is in mail.txt, with a version that has no stall, one
    /// whose guest did not boot, and one without a kernel. tests/ktap.rs parses the same file.
    #[test]
    fn the_versions_of_a_matrix_in_ktap() {
        let meta = scenarios::find("mmap-lock").unwrap().meta();
        let ladder = include_str!("../../../tests/golden/smaps-7.1.ladder.json");
        let ladder: Ladder = serde_json::from_str(ladder).unwrap();
        let ending = Ending::BootFailure { why: "qemu ended (exit status: 1)".to_owned() };
        let nothing = Came::Nothing("debian:9: no such series".to_owned());
        let good = include_bytes!("../../../tests/golden/smaps-7.0.record.json.gz");
        let bad = include_bytes!("../../../tests/golden/smaps-7.1.record.json.gz");
        let quiet = include_bytes!("../../../tests/golden/mmap-lock.quiet.record.json.gz");
        let rows = [
            measured("debian:7.0", good),
            measured("debian:7.1", bad),
            measured("quiet", quiet),
            Row::of_kernel("broken", "", Came::Ending(ending)),
            Row::of_kernel("debian:9", "", nothing),
        ];
        let (text, code) = as_ktap(meta, &rows, &ladder, Undecided::Fail);
        assert_eq!(code, 1, "{text}");
        assert_data_eq!(text, file!["../../../tests/golden/matrix.ktap"]);
    }

    #[test]
    fn configurations_lie_beside_a_report_and_none_beside_standard_output() {
        let at = |report: &str| beside(Path::new(report), "good");
        assert_eq!(at("a/report.txt"), Some("a/report.txt.good.config".into()));
        assert_eq!(at("-"), None);
    }
}
