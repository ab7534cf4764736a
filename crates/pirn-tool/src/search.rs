//! Finds tools by words: a ranking over names, descriptions, schemas and namespaces.
//!
//! The rules are those of pi 1.6, checked against recorded cases. Words of languages that are written without blanks come from a
//! dictionary, whose edition may differ from the one behind the recording.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::identifier::to_identifier;
use crate::tool::{Tool, ToolSpec};

mod document;
mod token;

pub use token::tokenize;

/// Weight of a query term that is in the tool's name.
const NAME_WEIGHT: f64 = 3.0;
/// Weight of a query term that is in the text of the tool's namespace.
const NAMESPACE_WEIGHT: f64 = 0.5;
/// BM25: how fast repetitions of a term stop counting.
const TERM_SATURATION: f64 = 1.2;
/// BM25: how much long texts are held back.
const LENGTH_NORMALISATION: f64 = 0.75;
/// Separates the namespace's name from the tool's own name.
const NAMESPACE_SEPARATOR: &str = "__";

/// A tool as the ranker reads it, cut into terms. Worth keeping while the tool does not change.
#[derive(Debug, Clone)]
pub struct SearchDocument {
    normalised_name: String,
    name_terms: HashSet<String>,
    local_name_terms: Vec<String>,
    namespace_terms: HashSet<String>,
    text_terms: HashMap<String, u32>,
    text_length: u32,
}

impl SearchDocument {
    /// Reads a tool: its name, its description with the descriptions and property names of its input schema, and the name,
    /// description and instructions of its namespace.
    pub fn new(spec: &ToolSpec) -> Self {
        let local_name = spec
            .name
            .rsplit_once(NAMESPACE_SEPARATOR)
            .map_or(spec.name.as_str(), |(_, local)| local);
        let mut text_terms = HashMap::new();
        let mut text_length = 0;
        for term in tokenize(&document::text(spec)) {
            *text_terms.entry(term).or_default() += 1;
            text_length += 1;
        }
        Self {
            normalised_name: normalised_name(&spec.name),
            name_terms: tokenize(&spec.name).into_iter().collect(),
            local_name_terms: tokenize(local_name),
            namespace_terms: tokenize(&document::namespace_text(spec))
                .into_iter()
                .collect(),
            text_terms,
            text_length,
        }
    }

    fn contains(&self, term: &str) -> bool {
        self.name_terms.contains(term)
            || self.namespace_terms.contains(term)
            || self.text_terms.contains_key(term)
    }

    /// Whether `query`, normalised, is the whole name, or all of it that follows a namespace.
    fn is_named(&self, query: &str) -> bool {
        self.normalised_name
            .strip_suffix(query)
            .is_some_and(|front| front.is_empty() || front.ends_with(NAMESPACE_SEPARATOR))
    }

    fn score(&self, terms: &[QueryTerm], average_length: f64) -> Score {
        let mut score = Score {
            matched: 0,
            value: 0.0,
        };
        for term in terms.iter().filter(|term| self.contains(&term.text)) {
            score.matched += 1;
            score.value += term.rarity * self.weight(&term.text, average_length);
        }
        let wants = |local: &String| terms.iter().any(|term| term.text == *local);
        if !self.local_name_terms.is_empty() && self.local_name_terms.iter().all(wants) {
            score.value += terms.iter().map(|term| term.rarity).sum::<f64>();
        }
        score
    }

    fn weight(&self, term: &str, average_length: f64) -> f64 {
        let mut weight = 0.0;
        if self.name_terms.contains(term) {
            weight += NAME_WEIGHT;
        }
        if self.namespace_terms.contains(term) {
            weight += NAMESPACE_WEIGHT;
        }
        if let Some(&count) = self.text_terms.get(term) {
            // A term in the text means that the average is above zero.
            let relative_length = f64::from(self.text_length) / average_length;
            let damping = TERM_SATURATION
                * (1.0 - LENGTH_NORMALISATION + LENGTH_NORMALISATION * relative_length);
            weight += f64::from(count) * (TERM_SATURATION + 1.0) / (f64::from(count) + damping);
        }
        weight
    }
}

/// A document that matches a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// The place of the document, or of the tool, in the list that was searched.
    pub index: usize,
    /// How well it fits; above zero, and comparable only within one search.
    pub score: f64,
}

struct QueryTerm {
    text: String,
    /// The inverse document frequency: high for terms that few documents have.
    rarity: f64,
}

struct Score {
    /// Query terms found in any field.
    matched: usize,
    value: f64,
}

/// Ranks `documents` by how well they fit `query` and returns the best `limit`. Tools whose very name was asked for come
/// first, then those that have more of the query's terms, then those with the higher score, then the earlier ones.
pub fn rank(query: &str, documents: &[SearchDocument], limit: usize) -> Vec<Ranked> {
    let documents: Vec<&SearchDocument> = documents.iter().collect();
    rank_references(query, &documents, limit)
}

/// Ranks the tools of `tools`, or of those in `namespace`, as [`rank`] does. A namespace is given by its name or an alias, as
/// written or as an identifier (`dev-radius` and `dev_radius` are the same). `index` in the answer is the place in `tools`.
pub fn search_tools(
    tools: &[Tool],
    query: &str,
    namespace: Option<&str>,
    limit: usize,
) -> Vec<Ranked> {
    let wanted = namespace.map(to_identifier);
    let (places, documents): (Vec<usize>, Vec<SearchDocument>) = tools
        .iter()
        .enumerate()
        .filter(|(_, tool)| {
            wanted
                .as_deref()
                .is_none_or(|wanted| is_in_namespace(tool.spec(), wanted))
        })
        .map(|(place, tool)| (place, SearchDocument::new(tool.spec())))
        .unzip();
    let mut ranked = rank(query, &documents, limit);
    for entry in &mut ranked {
        entry.index = places[entry.index];
    }
    ranked
}

fn is_in_namespace(spec: &ToolSpec, wanted: &str) -> bool {
    spec.namespace.as_ref().is_some_and(|namespace| {
        std::iter::once(&namespace.name)
            .chain(&namespace.aliases)
            .any(|name| to_identifier(name) == wanted)
    })
}

fn rank_references(query: &str, documents: &[&SearchDocument], limit: usize) -> Vec<Ranked> {
    let terms = query_terms(query, documents);
    let wanted_name = normalised_name(query.trim());
    let average_length = average_text_length(documents);
    let mut scored: Vec<(bool, Score, usize)> = documents
        .iter()
        .enumerate()
        .map(|(index, document)| {
            (
                document.is_named(&wanted_name),
                document.score(&terms, average_length),
                index,
            )
        })
        .filter(|(_, score, _)| score.value > 0.0)
        .collect();
    // Stable, so that equal documents stay in their order.
    scored.sort_by(|(left_named, left, _), (right_named, right, _)| {
        right_named
            .cmp(left_named)
            .then(right.matched.cmp(&left.matched))
            .then(
                right
                    .value
                    .partial_cmp(&left.value)
                    .unwrap_or(Ordering::Equal),
            )
    });
    scored
        .into_iter()
        .take(limit)
        .map(|(_, score, index)| Ranked {
            index,
            score: score.value,
        })
        .collect()
}

/// The query's terms, each once, in the order they are written.
fn query_terms(query: &str, documents: &[&SearchDocument]) -> Vec<QueryTerm> {
    let mut seen = BTreeSet::new();
    tokenize(query)
        .into_iter()
        .filter(|text| seen.insert(text.clone()))
        .map(|text| {
            let holders = documents
                .iter()
                .filter(|document| document.contains(&text))
                .count();
            let (all, holders) = (as_f64(documents.len()), as_f64(holders));
            let rarity = (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln();
            QueryTerm { text, rarity }
        })
        .collect()
}

fn average_text_length(documents: &[&SearchDocument]) -> f64 {
    let total: f64 = documents
        .iter()
        .map(|document| f64::from(document.text_length))
        .sum();
    total / as_f64(documents.len()).max(1.0)
}

/// A count of documents as a number to reckon with.
fn as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Lower case, with everything but `[a-z0-9_$]` as `_`, one for each UTF-16 code unit.
fn normalised_name(name: &str) -> String {
    let mut normalised = String::with_capacity(name.len());
    for character in name.chars().flat_map(char::to_lowercase) {
        if matches!(character, 'a'..='z' | '0'..='9' | '_' | '$') {
            normalised.push(character);
        } else {
            normalised.extend(std::iter::repeat_n('_', character.len_utf16()));
        }
    }
    normalised
}
