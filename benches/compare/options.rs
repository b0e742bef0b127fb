//! What may stand after `cargo bench --bench compare --`.

use anyhow::{Result, bail};

/// How many rounds a row is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speed {
    Full,
    Quick,
}

/// The options of one bench run.
pub(crate) struct Options {
    pub(crate) speed: Speed,
    filters: Vec<String>,
}

impl Options {
    /// Reads the arguments; `--bench`, which cargo adds, means nothing.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self { speed: Speed::Full, filters: Vec::new() };
        for argument in arguments {
            match argument.as_str() {
                "--bench" => {}
                "--quick" => options.speed = Speed::Quick,
                option if option.starts_with('-') => {
                    bail!("{option}: not an option; there is `--quick`, and part of a row's name");
                }
                part => options.filters.push(part.to_lowercase()),
            }
        }
        Ok(options)
    }

    /// Tells whether a row of that name is asked for: without a filter each is.
    pub(crate) fn wants(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.filters.is_empty() || self.filters.iter().any(|part| name.contains(part))
    }
}
