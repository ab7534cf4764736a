//! Why edits are not made.

/// Why edits cannot be made. Indices are those of the edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    Empty(usize),
    NotFound { index: usize, text: String },
    NotUnique { index: usize, count: usize },
    Overlap(usize, usize),
    NoChange,
}

impl Failure {
    /// The text that was not found.
    pub(super) fn missing_text(&self) -> Option<&str> {
        match self {
            Self::NotFound { text, .. } => Some(text),
            Self::Empty(_) | Self::NotUnique { .. } | Self::Overlap(..) | Self::NoChange => None,
        }
    }

    /// Explains the failure. With several edits the one that failed is named.
    pub(super) fn describe(&self, path: &str, edits: usize, nearest: Option<String>) -> String {
        let many = edits > 1;
        match self {
            Self::Empty(index) if many => {
                format!("edits[{index}].oldText must not be empty in {path}.")
            }
            Self::Empty(_) => format!("oldText must not be empty in {path}."),
            Self::NotFound { index, .. } => {
                let what = if many {
                    format!("edits[{index}]")
                } else {
                    "the exact text".to_owned()
                };
                let nearest = nearest
                    .map(|nearest| format!("\n\n{nearest}"))
                    .unwrap_or_default();
                format!(
                    "Could not find {what} in {path}. oldText has to equal the file's text, with every space and line \
                     break.{nearest}"
                )
            }
            Self::NotUnique { index, count } => {
                let what = if many {
                    format!("edits[{index}]")
                } else {
                    "the text".to_owned()
                };
                format!(
                    "Found {count} occurrences of {what} in {path}. Add lines around it until it is unique."
                )
            }
            Self::Overlap(first, second) => {
                format!(
                    "edits[{first}] and edits[{second}] overlap in {path}. Join them into one edit."
                )
            }
            Self::NoChange => {
                format!("No changes made to {path}. The new text equals the old one.")
            }
        }
    }
}
