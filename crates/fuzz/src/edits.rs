//! Changes a JSON value, as bytes describe.

use serde_json::{Map, Number, Value};

/// Changes that bytes describe, one after the other. Without bytes there is no change.
pub(crate) struct Edits<'a> {
    bytes: &'a [u8],
}

/// Most changes of one value.
const MOST: usize = 16;

impl<'a> Edits<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Edits { bytes }
    }

    /// Makes all changes.
    pub(crate) fn apply(&mut self, value: &mut Value) {
        for _ in 0..MOST {
            if self.bytes.is_empty() {
                return;
            }
            self.one(value);
        }
    }

    /// Goes down into the value as the bytes say, and changes the place that it reaches.
    fn one(&mut self, value: &mut Value) {
        // One in eight steps stops early, so that whole parts are replaced too.
        let deeper = !self.byte().is_multiple_of(8);
        let index = usize::from(self.byte());
        match value {
            Value::Array(items) if deeper && !items.is_empty() => {
                let index = index % items.len();
                self.one(&mut items[index]);
            }
            Value::Object(fields) if deeper && !fields.is_empty() => {
                let index = index % fields.len();
                fields.values_mut().nth(index).into_iter().for_each(|field| self.one(field));
            }
            leaf => self.change(leaf),
        }
    }

    fn change(&mut self, value: &mut Value) {
        match (self.byte() % 12, &mut *value) {
            (0, Value::Array(items)) => {
                let all = items.clone();
                items.extend(all.into_iter().take(64));
            }
            (1, Value::Array(items)) => drop(items.pop()),
            (1, Value::Object(fields)) => {
                let first =
                    fields.keys().nth(usize::from(self.byte()) % fields.len().max(1)).cloned();
                first.and_then(|key| fields.remove(&key));
            }
            (2, Value::Object(fields)) => {
                let old = fields.values().next().cloned().unwrap_or(Value::Null);
                fields.insert(self.text(), old);
            }
            (3, _) => *value = Value::Null,
            (4, _) => *value = Value::Bool(self.byte().is_multiple_of(2)),
            (5, _) => *value = Value::String(self.text()),
            (6, _) => *value = Value::Array(Vec::new()),
            (7, _) => *value = Value::Object(Map::new()),
            (8, _) => *value = Value::from(self.number()),
            (9, _) => *value = Value::from(-i64::from(self.byte())),
            (10, _) => *value = Value::from(self.number() as u64),
            _ => *value = Number::from_f64(self.number()).map_or(Value::Null, Value::Number),
        }
    }

    /// Numbers at which programs often fail, and ordinary ones.
    fn number(&mut self) -> f64 {
        const EDGES: [f64; 12] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            1e-308,
            1e308,
            -1e308,
            1e15,
            1.8446744073709552e19,
            4e9,
            1e3,
        ];
        let byte = usize::from(self.byte());
        EDGES.get(byte % 16).copied().unwrap_or_else(|| f64::from(self.byte()) * 0.37)
    }

    /// The next few bytes as text.
    fn text(&mut self) -> String {
        let length = usize::from(self.byte() % 32).min(self.bytes.len());
        let (text, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((byte, rest)) => {
                self.bytes = rest;
                *byte
            }
            None => 0,
        }
    }
}
