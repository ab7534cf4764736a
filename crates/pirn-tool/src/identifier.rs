//! How a tool's name becomes a member of `tools` in a script.

/// Replaces every character that is not allowed at its place in `[A-Za-z_$][A-Za-z0-9_$]*` by `_`; an empty name becomes
/// `_`. Reserved words stay, since they are valid member names.
///
/// ```
/// assert_eq!(pirn_tool::to_identifier("read-file"), "read_file");
/// assert_eq!(pirn_tool::to_identifier("9 lives"), "__lives");
/// ```
pub fn to_identifier(name: &str) -> String {
    let mut identifier = String::with_capacity(name.len());
    for (index, character) in name.chars().enumerate() {
        let allowed = matches!(character, 'A'..='Z' | 'a'..='z' | '_' | '$')
            || (index > 0 && character.is_ascii_digit());
        identifier.push(if allowed { character } else { '_' });
    }
    if identifier.is_empty() {
        identifier.push('_');
    }
    identifier
}
