//! The list of tools, within a budget that namespaces share.

use std::collections::BTreeMap;

use super::collation::SortKey;
use super::{Entry, describe_tool};
use crate::javascript::{trim, utf16_len};

/// Characters that are estimated to be one token.
const CHARS_PER_TOKEN: usize = 4;

/// Lists the tools under headings; `None` when there are none.
pub(super) fn render(entries: &[Entry<'_>], budget_tokens: usize) -> Option<String> {
    if entries.is_empty() {
        return None;
    }
    let mut groups = group(entries);
    choose(&mut groups, budget_tokens);
    let mut parts = vec!["Nested tools:".to_owned()];
    for group in &groups {
        parts.extend(group.heading());
        parts.extend(
            group
                .sections
                .iter()
                .filter(|section| section.is_chosen)
                .map(|section| section.text.clone()),
        );
    }
    Some(parts.join("\n\n"))
}

/// The tools of one namespace, or of none.
#[derive(Debug, Default)]
struct Group {
    name: Option<String>,
    description: String,
    sections: Vec<Section>,
}

#[derive(Debug)]
struct Section {
    text: String,
    cost_tokens: usize,
    is_chosen: bool,
}

impl Group {
    fn heading(&self) -> Option<String> {
        let name = self.name.as_deref()?;
        let chosen = self
            .sections
            .iter()
            .filter(|section| section.is_chosen)
            .count();
        let remark = if chosen == self.sections.len() {
            ""
        } else if chosen > 0 {
            " (some tools not listed)"
        } else {
            " (tools not listed)"
        };
        let heading = format!("## {name}{remark}\n{}", self.description);
        Some(heading.trim_end().to_owned())
    }

    /// The cheapest section that is left; of equal ones the first.
    fn cheapest(&mut self) -> Option<&mut Section> {
        self.sections
            .iter_mut()
            .filter(|section| !section.is_chosen)
            .min_by_key(|section| section.cost_tokens)
    }
}

/// Tools without a namespace first, then the namespaces in the order of their names.
fn group(entries: &[Entry<'_>]) -> Vec<Group> {
    let mut groups: BTreeMap<Option<SortKey>, Group> = BTreeMap::new();
    for entry in entries {
        let namespace = entry.spec.namespace.as_deref();
        let group = groups
            .entry(namespace.map(|namespace| SortKey::new(&namespace.name)))
            .or_insert_with(|| Group {
                name: namespace.map(|namespace| namespace.name.clone()),
                description: namespace
                    .and_then(|namespace| namespace.description.as_deref())
                    .map(|description| trim(description).to_owned())
                    .unwrap_or_default(),
                sections: Vec::new(),
            });
        group.sections.push(section(entry));
    }
    groups.into_values().collect()
}

fn section(entry: &Entry<'_>) -> Section {
    let Entry { spec, identifier } = entry;
    let raw_name = if spec.name == *identifier {
        String::new()
    } else {
        format!(" (`{}`)", spec.name)
    };
    let text = format!(
        "### `{identifier}`{raw_name}\n{}",
        describe_tool(spec, identifier)
    );
    let cost_tokens = utf16_len(&text).div_ceil(CHARS_PER_TOKEN);
    Section {
        text,
        cost_tokens,
        is_chosen: false,
    }
}

/// Round by round, each group in turn takes its cheapest section; a group that cannot pay drops out.
fn choose(groups: &mut [Group], budget_tokens: usize) {
    let mut left = budget_tokens;
    let mut active: Vec<&mut Group> = groups.iter_mut().collect();
    while !active.is_empty() {
        active.retain_mut(|group| {
            match group
                .cheapest()
                .filter(|section| section.cost_tokens <= left)
            {
                Some(section) => {
                    left -= section.cost_tokens;
                    section.is_chosen = true;
                    true
                }
                None => false,
            }
        });
    }
}
