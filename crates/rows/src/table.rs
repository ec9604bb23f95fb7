//! One Parquet file with typed columns, written row by row.

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::fs::File;
use std::sync::Arc;

/// Rows that are buffered before they are written. This limits the memory for a file of any
/// length.
const ROWS: usize = 1 << 15;

/// Bytes of text that are buffered before they are written. Names may be as long as paths.
const BYTES: usize = 64 << 20;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Text,
    Double,
    Int,
    Long,
    /// Milliseconds since 1970, UTC.
    Time,
    Flag,
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) holds: Holds,
    /// Whether a row may have no value in it.
    pub(crate) optional: bool,
}

/// A column with a value in each row.
pub(crate) const fn always(name: &'static str, holds: Holds) -> Column {
    Column { name, holds, optional: false }
}

/// A column in which a row may have no value.
pub(crate) const fn maybe(name: &'static str, holds: Holds) -> Column {
    Column { name, holds, optional: true }
}

/// The value of a row in a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Nothing,
    Text(ByteArray),
    Double(f64),
    Int(i32),
    Long(i64),
    Flag(bool),
}

impl Cell {
    /// A text from others, made safe for programs that show it on a terminal.
    pub(crate) fn text(text: &str) -> Self {
        // Nearly all text is plain, and this check is cheap.
        let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        match is_plain || !text.chars().any(os::terminal::steers) {
            true => Cell::Text(ByteArray::from(text)),
            false => Cell::Text(ByteArray::from(os::terminal::line(text).as_str())),
        }
    }

    pub(crate) fn texts(text: Option<&str>) -> Self {
        text.map_or(Cell::Nothing, Cell::text)
    }

    pub(crate) fn double(value: Option<f64>) -> Self {
        value.map_or(Cell::Nothing, Cell::Double)
    }
}

/// The buffered values of a column.
enum Values {
    Text(Vec<ByteArray>),
    Double(Vec<f64>),
    Int(Vec<i32>),
    Long(Vec<i64>),
    Flag(Vec<bool>),
}

struct Held {
    column: Column,
    /// For each row, 1 if it has a value, else 0. Empty if every row has one.
    levels: Vec<i16>,
    values: Values,
}

impl Held {
    fn of(column: Column) -> Self {
        let values = match column.holds {
            Holds::Text => Values::Text(Vec::new()),
            Holds::Double => Values::Double(Vec::new()),
            Holds::Int => Values::Int(Vec::new()),
            Holds::Long | Holds::Time => Values::Long(Vec::new()),
            Holds::Flag => Values::Flag(Vec::new()),
        };
        Held { column, levels: Vec::new(), values }
    }

    fn push(&mut self, cell: Cell) {
        let optional = self.column.optional;
        let there = match (&mut self.values, cell) {
            (Values::Text(all), Cell::Text(value)) => push(all, value),
            (Values::Double(all), Cell::Double(value)) => push(all, value),
            (Values::Int(all), Cell::Int(value)) => push(all, value),
            (Values::Long(all), Cell::Long(value)) => push(all, value),
            (Values::Flag(all), Cell::Flag(value)) => push(all, value),
            // A column without optional values must stay as long as the others.
            (_, _) if optional => 0,
            (Values::Text(all), _) => push(all, ByteArray::from("")),
            (Values::Double(all), _) => push(all, 0.0),
            (Values::Int(all), _) => push(all, 0),
            (Values::Long(all), _) => push(all, 0),
            (Values::Flag(all), _) => push(all, false),
        };
        if optional {
            self.levels.push(there);
        }
    }

    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let levels = std::mem::take(&mut self.levels);
        let levels = self.column.optional.then_some(levels.as_slice());
        match &mut self.values {
            Values::Text(all) => batch::<ByteArrayType>(writer, all, levels),
            Values::Double(all) => batch::<DoubleType>(writer, all, levels),
            Values::Int(all) => batch::<Int32Type>(writer, all, levels),
            Values::Long(all) => batch::<Int64Type>(writer, all, levels),
            Values::Flag(all) => batch::<BoolType>(writer, all, levels),
        }
    }
}

fn push<T>(all: &mut Vec<T>, value: T) -> i16 {
    all.push(value);
    1
}

fn batch<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    all: &mut Vec<T::T>,
    levels: Option<&[i16]>,
) -> Result<()> {
    writer.typed::<T>().write_batch(all, levels, None)?;
    all.clear();
    Ok(())
}

/// A file that is being written.
pub(crate) struct Table {
    writer: SerializedFileWriter<File>,
    held: Vec<Held>,
    rows: usize,
    /// Buffered bytes of text.
    bytes: usize,
}

impl Table {
    /// Creates a file with these columns.
    pub(crate) fn create(file: File, columns: &[Column]) -> Result<Self> {
        let fields = columns.iter().map(|column| field(*column)).collect::<Result<Vec<_>>>()?;
        let schema = Type::group_type_builder("tailback").with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_created_by(format!("tailback {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::LZ4_RAW)
            .build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
        let held = columns.iter().map(|column| Held::of(*column)).collect();
        Ok(Table { writer, held, rows: 0, bytes: 0 })
    }

    /// Adds a row, with one cell per column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) -> Result<()> {
        let cells = cells.into_iter().chain(std::iter::repeat(Cell::Nothing));
        for (held, cell) in self.held.iter_mut().zip(cells) {
            self.bytes += if let Cell::Text(text) = &cell { text.len() } else { 0 };
            held.push(cell);
        }
        self.rows += 1;
        if self.rows >= ROWS || self.bytes >= BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for held in &mut self.held {
            let Some(mut writer) = group.next_column()? else { break };
            held.write(&mut writer)?;
            writer.close()?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    /// Writes the buffered rows and the end of the file.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.writer.close().map(drop)
    }
}

fn field(column: Column) -> Result<Arc<Type>> {
    let (physical, logical) = match column.holds {
        Holds::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Holds::Double => (Physical::DOUBLE, None),
        Holds::Int => (Physical::INT32, None),
        Holds::Long => (Physical::INT64, None),
        Holds::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
        Holds::Flag => (Physical::BOOLEAN, None),
    };
    let repetition = if column.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let built = Type::primitive_type_builder(column.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(built))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    #[test]
    fn what_others_named_steers_nothing_that_shows_it() {
        let file = tempfile::tempfile().unwrap();
        let columns = [always("host", Holds::Text), maybe("file", Holds::Text)];
        let mut table = Table::create(file.try_clone().unwrap(), &columns).unwrap();
        let long = "x".repeat(4096);
        let hostile = format!("we\u{1b}[31mb\n\r\u{9b}\u{202e}\u{2066}1\u{200b}{long}");
        table.row([Cell::text(&hostile), Cell::texts(Some(&hostile))]).unwrap();
        table.row([Cell::text("größer 雪"), Cell::texts(None)]).unwrap();
        table.finish().unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect();
        let clean = format!("we [31mb     1 {long}");
        for column in [0, 1] {
            assert_eq!(rows[0].get_string(column).unwrap(), &clean);
        }
        assert_eq!(rows[1].get_string(0).unwrap(), "größer 雪");
    }

    #[test]
    fn long_names_are_not_held_for_long() {
        let mut table =
            Table::create(tempfile::tempfile().unwrap(), &[always("file", Holds::Text)]).unwrap();
        let long = "x".repeat(BYTES / 4);
        for held in [1, 2, 3, 0, 1] {
            table.row([Cell::text(&long)]).unwrap();
            assert_eq!(table.rows, held);
        }
    }
}
