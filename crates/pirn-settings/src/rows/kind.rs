//! What a row of the table of settings can be.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::values::Settings;

pub(crate) struct Row {
    /// The names of the groups around it and its own, with points between them.
    pub(crate) key: &'static str,
    /// What its value is, and what it sets.
    pub(crate) kind: Kind,
    /// The default, as JSON. `null` where there is none.
    pub(crate) default: &'static str,
    /// For people: one or two sentences.
    pub(crate) help: &'static str,
    /// What a project's value does.
    pub(crate) project: ProjectRule,
}

/// What a value is, and what it sets.
pub(crate) enum Kind {
    /// One of a few words. The first function says whether it knows the word, the second tells the word that is set.
    Word(
        &'static [&'static str],
        fn(&mut Settings, &str) -> Option<()>,
        fn(&Settings) -> Option<&str>,
    ),
    Flag(fn(&mut Settings) -> &mut bool),
    /// A whole number within bounds.
    Whole(Whole),
    /// A program: a path or a name.
    Program(fn(&mut Settings) -> &mut Option<String>),
    /// Strings of one form.
    Texts(Form, fn(&mut Settings) -> &mut Vec<String>),
    Paths(fn(&mut Settings) -> &mut Vec<PathBuf>),
}

/// A whole number within bounds, and where it lies.
pub(crate) struct Whole {
    /// The smallest number that is taken.
    pub(crate) least: u64,
    /// The largest number that is taken.
    pub(crate) most: u64,
    place: Place,
}

/// Where a number lies among the settings.
enum Place {
    /// It has a value always.
    Given(fn(&mut Settings) -> &mut u64),
    /// Without a value, there is no bound.
    Unbounded(fn(&mut Settings) -> &mut Option<u64>),
}

impl Whole {
    pub(crate) fn set(&self, settings: &mut Settings, number: u64) {
        match self.place {
            Place::Given(place) => *place(settings) = number,
            Place::Unbounded(place) => *place(settings) = Some(number),
        }
    }

    fn get(&self, settings: &mut Settings) -> Option<u64> {
        match self.place {
            Place::Given(place) => Some(*place(settings)),
            Place::Unbounded(place) => *place(settings),
        }
    }
}

/// What the strings of a list look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A rule for hosts, as the proxy reads it.
    Host,
    /// An absolute path, one below `~`, `**/NAME`, or `...`.
    Pattern,
    /// The name of a variable of the environment.
    Variable,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// What a project's value does. Whatever a project says, the user's own settings are not made weaker.
pub(crate) enum ProjectRule {
    /// It counts: it is no matter of safety.
    Free,
    User,
    /// It counts where this is not smaller with it.
    Strictness(fn(&Settings) -> u64),
    /// What it lists is added.
    Adds,
    /// Of what it lists counts what the user's settings cover; what it does not list is taken away.
    Covered(fn(&Settings, &Path) -> bool),
}

/// A number that always has a value.
pub(super) const fn whole(least: u64, most: u64, place: fn(&mut Settings) -> &mut u64) -> Kind {
    Kind::Whole(Whole {
        least,
        most,
        place: Place::Given(place),
    })
}

/// A number without which there is no bound.
pub(super) const fn unbounded(
    least: u64,
    most: u64,
    place: fn(&mut Settings) -> &mut Option<u64>,
) -> Kind {
    Kind::Whole(Whole {
        least,
        most,
        place: Place::Unbounded(place),
    })
}

impl Row {
    /// The value that is set, as JSON; `null` where there is none.
    pub(crate) fn value(&self, settings: &Settings) -> Value {
        // The lists are reached through a function that could change them.
        let mut copy = settings.clone();
        match &self.kind {
            Kind::Word(_, _, get) => get(settings).into(),
            Kind::Flag(flag) => (*flag(&mut copy)).into(),
            Kind::Whole(whole) => whole.get(&mut copy).into(),
            Kind::Program(program) => program(&mut copy).clone().into(),
            Kind::Texts(_, list) => list(&mut copy).clone().into(),
            Kind::Paths(list) => list(&mut copy)
                .iter()
                .map(|path| Value::from(path.to_string_lossy()))
                .collect(),
        }
    }

    /// Puts the entries that a list had before in front of those that were given for it.
    pub(crate) fn keep_entries(&self, before: &Settings, given: &mut Settings) {
        fn join<T: PartialEq>(mut all: Vec<T>, given: &mut Vec<T>) {
            for entry in std::mem::take(given) {
                if !all.contains(&entry) {
                    all.push(entry);
                }
            }
            *given = all;
        }
        match &self.kind {
            Kind::Texts(_, list) => join(list(&mut before.clone()).clone(), list(given)),
            Kind::Paths(list) => join(list(&mut before.clone()).clone(), list(given)),
            Kind::Word(..) | Kind::Flag(_) | Kind::Whole(..) | Kind::Program(_) => {}
        }
    }

    /// Whether the value is a list.
    pub(crate) fn is_list(&self) -> bool {
        match self.kind {
            Kind::Texts(..) | Kind::Paths(_) => true,
            Kind::Word(..) | Kind::Flag(_) | Kind::Whole(..) | Kind::Program(_) => false,
        }
    }
}
