//! Names of members that are written twice, or that no table has.

use pirn_jsonc::Member;

/// What is to be said of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameFinding {
    /// A member before it has the same name.
    Repeated {
        /// The line of the first one, counted from 1.
        first_line: u32,
    },
    /// The table does not have it.
    Unknown,
}

/// Checks the name of the member at `index` among all that an object has. `None`: there is nothing to say.
pub fn check_name(
    members: &[Member],
    index: usize,
    is_known: impl Fn(&str) -> bool,
) -> Option<NameFinding> {
    let member = members.get(index)?;
    let mut earlier = members.iter().take(index);
    if let Some(first) = earlier.find(|other| other.name == member.name) {
        return Some(NameFinding::Repeated {
            first_line: first.line,
        });
    }
    (!is_known(&member.name)).then_some(NameFinding::Unknown)
}
