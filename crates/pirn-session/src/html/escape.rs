//! Text of strangers inside a page.

/// Text as a page shows it: nothing in it is a tag, ends an attribute, hides, or changes the order of what is read.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            '\r' => {}
            _ if is_hidden(character) => {
                out.push_str("&#xFFFD;");
            }
            _ => out.push(character),
        }
    }
    out
}

/// Controls, and marks that turn the direction of text around.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The address of a picture in the page itself; `None` for what is not a picture that browsers only draw.
pub(super) fn image_address(data: &str, mime_type: &str) -> Option<String> {
    // A drawing in SVG could hold a program.
    const DRAWN_ONLY: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let fits = DRAWN_ONLY.contains(&mime_type) && data.bytes().all(is_base64);
    fits.then(|| format!("data:{mime_type};base64,{data}"))
}
