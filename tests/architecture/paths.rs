//! Finds every path that a source text names, and what it leads to.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use super::words::{Piece, What, pieces};

/// A module, as the names from the crate's root down to it.
pub(super) type Module = Vec<String>;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Something of ours, from the crate's root.
    Crate(Vec<String>),
    /// Something of another crate, or a name whose origin is not a module.
    Outside(Vec<String>),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crate(path) if path.is_empty() => write!(f, "crate"),
            Self::Crate(path) => write!(f, "crate::{}", path.join("::")),
            Self::Outside(path) => write!(f, "{}", path.join("::")),
        }
    }
}

/// One naming.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) line: usize,
    pub(super) target: Target,
}

/// Everything that a file names: its `use` lines and the paths in its code,
/// tests included.
pub(super) fn named(text: &str, module: &Module, modules: &BTreeSet<Module>) -> Vec<Named> {
    let mut reader = Reader {
        pieces: pieces(text),
        at: 0,
        scopes: Vec::new(),
        module,
        modules,
        known: HashMap::new(),
        found: Vec::new(),
    };
    reader.read();
    reader.found
}

struct Reader<'a> {
    pieces: Vec<Piece>,
    at: usize,
    /// The open braces, and the names of those that are modules.
    scopes: Vec<Option<String>>,
    module: &'a Module,
    modules: &'a BTreeSet<Module>,
    /// What `use` lines have brought in.
    known: HashMap<String, Target>,
    found: Vec<Named>,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(piece) = self.pieces.get(self.at).cloned() {
            match &piece.what {
                What::Mark('{') => self.scopes.push(None),
                What::Mark('}') => {
                    self.scopes.pop();
                }
                What::Word(word) if word == "mod" && self.mark(2) == Some('{') => {
                    self.scopes.push(self.word(1));
                    self.at += 2;
                }
                What::Word(word) if word == "use" && self.mark(1) != Some('<') => {
                    self.at += 1;
                    self.read_use(&[]);
                    continue;
                }
                What::Word(_) if self.is_at_a_path() => {
                    let path = self.read_path();
                    let target = self.target(&path);
                    self.found.push(Named { line: piece.line, target });
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn what(&self, ahead: usize) -> Option<&What> {
        self.pieces.get(self.at + ahead).map(|piece| &piece.what)
    }

    fn mark(&self, ahead: usize) -> Option<char> {
        match self.what(ahead) {
            Some(What::Mark(mark)) => Some(*mark),
            _ => None,
        }
    }

    fn word(&self, ahead: usize) -> Option<String> {
        match self.what(ahead) {
            Some(What::Word(word)) => Some(word.clone()),
            _ => None,
        }
    }

    /// Whether a path of two words at least begins here.
    fn is_at_a_path(&self) -> bool {
        self.what(1) == Some(&What::Colons) && matches!(self.what(2), Some(What::Word(_)))
    }

    fn read_path(&mut self) -> Vec<String> {
        let mut path: Vec<String> = self.word(0).into_iter().collect();
        self.at += 1;
        while self.what(0) == Some(&What::Colons) {
            let Some(word) = self.word(1) else { break };
            path.push(word);
            self.at += 2;
        }
        path
    }

    /// Reads one tree of a `use` line, up to the mark that ends it.
    fn read_use(&mut self, prefix: &[String]) {
        if self.what(0) == Some(&What::Colons) {
            self.at += 1;
        }
        let line = self.pieces.get(self.at).map_or(0, |piece| piece.line);
        let mut path = prefix.to_vec();
        if self.word(0).is_some() {
            path.extend(self.read_path());
        }
        if self.what(0) == Some(&What::Colons) {
            self.at += 1;
        }
        match self.mark(0) {
            Some('{') => {
                self.at += 1;
                while self.mark(0) != Some('}') && self.what(0).is_some() {
                    self.read_use(&path);
                    if self.mark(0) == Some(',') {
                        self.at += 1;
                    }
                }
                self.at += 1;
            }
            Some('*') => {
                self.at += 1;
                self.bring_in_all(line, &path);
            }
            _ => {
                if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
                    path.pop();
                }
                let mut name = path.last().cloned().unwrap_or_default();
                if self.word(0).is_some_and(|word| word == "as") {
                    name = self.word(1).unwrap_or_default();
                    self.at += 2;
                }
                let target = self.target(&path);
                self.known.insert(name, target.clone());
                self.found.push(Named { line, target });
            }
        }
    }

    /// A glob brings in the modules of what it names.
    fn bring_in_all(&mut self, line: usize, path: &[String]) {
        let target = self.target(path);
        if let Target::Crate(parent) = &target {
            for module in self.modules {
                if let Some((name, above)) = module.split_last()
                    && above == parent
                {
                    let target = Target::Crate(module.clone());
                    self.known.entry(name.clone()).or_insert(target);
                }
            }
        }
        self.found.push(Named { line, target });
    }

    /// What a path leads to from where it stands.
    fn target(&self, path: &[String]) -> Target {
        let inline = self.scopes.iter().flatten().cloned();
        let here: Module = self.module.iter().cloned().chain(inline).collect();
        let below = |above: Module, rest: &[String]| {
            Target::Crate(above.into_iter().chain(rest.iter().cloned()).collect())
        };
        match path {
            [first, rest @ ..] if first == "crate" || first == "doubletap" => {
                below(Vec::new(), rest)
            }
            [first, rest @ ..] if first == "self" => below(here, rest),
            [first, ..] if first == "super" => {
                let up = path.iter().take_while(|word| *word == "super").count();
                let above = here[..here.len().saturating_sub(up)].to_vec();
                below(above, &path[up..])
            }
            [first, rest @ ..] => match self.known.get(first) {
                Some(Target::Crate(known)) => below(known.clone(), rest),
                Some(Target::Outside(known)) => {
                    Target::Outside(known.iter().chain(rest).cloned().collect())
                }
                None if self.is_module(&here, first) => below(here, path),
                None => Target::Outside(path.to_vec()),
            },
            [] => Target::Outside(Vec::new()),
        }
    }

    fn is_module(&self, here: &Module, name: &str) -> bool {
        let mut module = here.clone();
        module.push(name.to_owned());
        self.modules.contains(&module)
    }
}
