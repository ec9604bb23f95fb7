//! Finds which file of a crate imports from which, by reading the sources.
//!
//! Paths that begin with `crate`, `super`, `self` or a child module are followed to the file that
//! defines the item. Code for tests does not count. A file that only re-exports an item of a
//! child module does not count either (`mod child; pub use child::Item;`). An item of another
//! crate counts as an item of the file that re-exports it.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The path of a module below the root of its crate. The root itself is empty.
pub type Module = Vec<String>;

/// The files that each file imports from, each with an example of such a path.
pub type Arrows = BTreeMap<Module, BTreeMap<Module, String>>;

/// How many times an item may be re-exported on the way to its definition.
const MOST_STEPS: usize = 8;

/// The names in one file.
#[derive(Default)]
struct Source {
    uses: Vec<Use>,
    /// Paths of two or more words, outside of `use`.
    paths: Vec<Vec<String>>,
    /// All words outside of `use`.
    words: BTreeSet<String>,
    /// Modules that are declared only for tests.
    tests: Vec<String>,
}

/// One name that a `use` imports.
struct Use {
    path: Vec<String>,
    name: String,
    is_public: bool,
}

/// The imports between the files of a crate.
pub fn arrows(src: &Path) -> Arrows {
    let mut sources = BTreeMap::new();
    read_folder(src, &Module::new(), src.join("lib.rs").exists(), &mut sources);
    let tests: Vec<Module> = sources
        .iter()
        .flat_map(|(module, source): (&Module, &Source)| {
            source.tests.iter().map(move |name| below(module, name))
        })
        .collect();
    sources.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    sources.keys().map(|module| (module.clone(), arrows_of(module, &sources))).collect()
}

/// The imports between the modules of the root. Each module includes everything below it.
pub fn by_folder(arrows: &Arrows) -> Arrows {
    let mut folders = Arrows::new();
    for (from, uses) in arrows {
        let folder = folders.entry(outermost(from)).or_default();
        let uses = uses.iter().map(|(to, path)| (outermost(to), path.clone()));
        folder.extend(uses.filter(|(to, _)| *to != outermost(from)));
    }
    folders
}

fn outermost(module: &Module) -> Module {
    module.iter().take(1).cloned().collect()
}

/// The files that can be reached from themselves. Each circle is the set of its files.
pub fn circles(arrows: &Arrows) -> BTreeSet<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        arrows.keys().map(|module| (module, reached(module, arrows))).collect();
    let circle = |module: &&Module| -> BTreeSet<Module> {
        let back = |other: &&&Module| reached[**other].contains(*module);
        reached[*module].iter().filter(back).map(|other| (*other).clone()).collect()
    };
    let circles = arrows.keys().filter(|module| reached[*module].contains(*module));
    circles.map(|module| circle(&module)).collect()
}

/// Describes a circle in lines, with the paths that close it.
pub fn describe(circle: &BTreeSet<Module>, arrows: &Arrows) -> String {
    let name = |module: &Module| match module.is_empty() {
        true => "the root".to_owned(),
        false => module.join("::"),
    };
    let within = circle.iter().flat_map(|from| arrows[from].iter().map(move |to| (from, to)));
    within
        .filter(|(_, (to, _))| circle.contains(*to))
        .map(|(from, (to, path))| format!("  {} imports {path} from {}\n", name(from), name(to)))
        .collect()
}

fn reached<'a>(from: &'a Module, arrows: &'a Arrows) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        open.extend(arrows[module].keys().filter(|to| reached.insert(*to)));
    }
    reached
}

fn read_folder(
    folder: &Path,
    module: &Module,
    has_library: bool,
    sources: &mut BTreeMap<Module, Source>,
) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.is_dir() {
            read_folder(&path, &below(module, name), has_library, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let module = match name {
                "mod" | "lib" => module.clone(),
                // A program beside a library is a separate crate.
                "main" if !has_library => module.clone(),
                _ => below(module, name),
            };
            let tokens: TokenStream = fs::read_to_string(&path).unwrap().parse().unwrap();
            let mut source = Source::default();
            source.read(tokens);
            sources.insert(module, source);
        }
    }
}

fn below(module: &Module, name: &str) -> Module {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

fn arrows_of(module: &Module, sources: &BTreeMap<Module, Source>) -> BTreeMap<Module, String> {
    let source = &sources[module];
    let imported =
        source.uses.iter().filter(|one| !one.is_public || source.words.contains(&one.name));
    let paths = imported.map(|one| &one.path).chain(&source.paths);
    paths
        .filter_map(|path| Some((origin(module, path, sources, MOST_STEPS)?, path.join("::"))))
        .filter(|(to, _)| to != module)
        .collect()
}

/// The file that defines the item of a path; None if another crate defines it.
fn origin(
    from: &Module,
    path: &[String],
    sources: &BTreeMap<Module, Source>,
    steps: usize,
) -> Option<Module> {
    let (mut at, mut rest) = match path.first()?.as_str() {
        "crate" => (Module::new(), &path[1..]),
        "self" => (from.clone(), &path[1..]),
        "super" => {
            let up = path.iter().take_while(|word| *word == "super").count();
            (from[..from.len().saturating_sub(up)].to_vec(), &path[up..])
        }
        child if sources.contains_key(&below(from, child)) => (from.clone(), path),
        _ => return None,
    };
    while let Some((word, others)) = rest.split_first()
        && sources.contains_key(&below(&at, word))
    {
        (at, rest) = (below(&at, word), others);
    }
    let passed_on =
        rest.first().and_then(|name| sources[&at].uses.iter().find(|u| u.name == *name));
    match passed_on {
        // An item of another crate counts as an item of the file that re-exports it. The root is
        // an exception, since it re-exports to other crates.
        Some(other) if steps > 0 => {
            let passes_on = other.is_public && !at.is_empty();
            origin(&at, &other.path, sources, steps - 1).or(passes_on.then_some(at))
        }
        _ => Some(at),
    }
}

impl Source {
    fn read(&mut self, stream: TokenStream) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at = match token {
                TokenTree::Punct(sign) if sign.as_char() == '#' => self.attribute(&tokens, at),
                TokenTree::Group(group) => {
                    self.read(group.stream());
                    at + 1
                }
                // `use<'a>` is part of a type.
                TokenTree::Ident(word) if *word == "use" && !is_sign(&tokens, at + 1, '<') => {
                    self.imports(&tokens, at)
                }
                TokenTree::Ident(_) => self.path(&tokens, at),
                _ => at + 1,
            }
        }
    }

    /// Skips an attribute, and the item of an attribute for tests. Returns the next place.
    fn attribute(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let Some(TokenTree::Group(group)) = tokens.get(at + 1) else { return at + 1 };
        let is_for_tests = group.stream().to_string().replace(' ', "") == "cfg(test)";
        if is_for_tests { self.skip_item(tokens, at + 2) } else { at + 2 }
    }

    fn skip_item(&mut self, tokens: &[TokenTree], from: usize) -> usize {
        for (at, token) in tokens.iter().enumerate().skip(from) {
            match token {
                TokenTree::Ident(word) if *word == "mod" && is_sign(tokens, at + 2, ';') => {
                    self.tests.push(tokens[at + 1].to_string());
                }
                TokenTree::Punct(sign) if sign.as_char() == ';' => return at + 1,
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return at + 1,
                _ => {}
            }
        }
        tokens.len()
    }

    /// Reads the `use` at a place. Returns the next place.
    fn imports(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let before = tokens[..at].iter().rev();
        // Skips `pub` or `pub(crate)`.
        let mut before = before.skip_while(|token| matches!(token, TokenTree::Group(_)));
        let is_public = matches!(before.next(), Some(TokenTree::Ident(word)) if *word == "pub");
        let mut found = Vec::new();
        let end = branches(tokens, at + 1, &[], &mut found);
        self.uses.extend(found.into_iter().map(|(path, name)| Use { path, name, is_public }));
        end
    }

    /// Reads the path that begins at a place. Returns the next place.
    fn path(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let is_tail = at >= 2 && is_sign(tokens, at - 1, ':') && is_sign(tokens, at - 2, ':');
        let mut path = vec![tokens[at].to_string()];
        let mut end = at + 1;
        while is_sign(tokens, end, ':')
            && is_sign(tokens, end + 1, ':')
            && let Some(TokenTree::Ident(word)) = tokens.get(end + 2)
        {
            path.push(word.to_string());
            end += 3;
        }
        self.words.extend(path.iter().cloned());
        if path.len() > 1 && !is_tail {
            self.paths.push(path);
        }
        end
    }
}

/// The paths of the tree of a `use`, each with its name. Returns the next place.
fn branches(
    tokens: &[TokenTree],
    mut at: usize,
    stem: &[String],
    found: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let mut path = stem.to_vec();
    loop {
        match tokens.get(at) {
            Some(TokenTree::Punct(sign)) if sign.as_char() == ':' => at += 1,
            Some(TokenTree::Punct(sign)) if sign.as_char() == '*' => {
                found.push((path, "*".to_owned()));
                return at + 1;
            }
            Some(TokenTree::Ident(word)) => {
                path.push(word.to_string());
                at += 1;
                if is_sign(tokens, at, ':') {
                    continue;
                }
                if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                let renamed =
                    matches!(tokens.get(at), Some(TokenTree::Ident(word)) if *word == "as");
                let name = match renamed {
                    true => tokens[at + 1].to_string(),
                    false => path.last().cloned().unwrap_or_default(),
                };
                found.push((path, name));
                return if renamed { at + 2 } else { at };
            }
            Some(TokenTree::Group(group)) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut place = 0;
                while place < inner.len() {
                    // The next branch begins after the comma.
                    place = branches(&inner, place, &path, found) + 1;
                }
                return at + 1;
            }
            _ => return at,
        }
    }
}

fn is_sign(tokens: &[TokenTree], at: usize, sign: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}
