//! Values: parsed, written in compact form, and the values of JSON pointers.

use std::collections::HashMap;

use serde_json::Value;

/// Deeper values are unsure: Row cannot read its own cache again with them.
const DEEPEST: usize = 125;

/// Append the compact form of a JSON text, with sorted keys; None if it is unsure.
pub fn compact(text: &[u8], into: &mut Vec<u8>) -> Option<Value> {
    let value: Value = serde_json::from_slice(text).ok()?;
    let start = into.len();
    serde_json::to_writer(&mut *into, &value).ok()?;
    let written = &into[start..];
    let opening = |byte: &&u8| matches!(byte, b'[' | b'{');
    if written.len() > 2 * DEEPEST && written.iter().filter(opening).count() > DEEPEST {
        into.truncate(start);
        return None;
    }
    Some(value)
}

/// The distinct values of one pointer, as compact JSON, in the order in which they were met.
#[derive(Default)]
pub struct Distinct {
    known: HashMap<Vec<u8>, u32>,
}

impl Distinct {
    /// Return the code of a value.
    pub fn code(&mut self, text: &[u8]) -> u32 {
        if let Some(code) = self.known.get(text) {
            return *code;
        }
        let code = u32::try_from(self.known.len()).expect("fewer values than directories");
        self.known.insert(text.to_vec(), code);
        code
    }

    /// Return all values by code.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let mut ordered = vec![&b""[..]; self.known.len()];
        for (text, code) in &self.known {
            ordered[*code as usize] = text;
        }
        ordered.into_iter()
    }
}
