//! Colours: what text is, and which colour a theme gives to it on this terminal.

mod color;
mod file;

use crate::input::Scheme;
use crate::row::{Attribute, TextStyle};

pub use color::{Color, ColorDepth};
pub use file::ThemeError;

macro_rules! roles {
    ($($variant:ident $name:literal $dark:expr, $light:expr;)*) => {
        /// What a text or its background is. The names in theme files are those of pi.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the names are those of theme files")]
        pub enum Role {
            $($variant,)*
        }

        impl Role {
            /// All roles, in the order of the reference.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name in theme files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            const fn usual(self, scheme: Scheme) -> Color {
                match (self, scheme) {
                    $((Self::$variant, Scheme::Dark) => $dark, (Self::$variant, Scheme::Light) => $light,)*
                }
            }
        }
    };
}

use Color::{Ansi, Default as Own};

// The colours of the terminal's own palette. Bright ones are readable on dark, the others on light.
roles! {
    Accent "accent" Ansi(14), Ansi(6);
    Border "border" Ansi(8), Ansi(8);
    BorderAccent "borderAccent" Ansi(14), Ansi(6);
    BorderMuted "borderMuted" Ansi(8), Ansi(8);
    Success "success" Ansi(10), Ansi(2);
    Error "error" Ansi(9), Ansi(1);
    Warning "warning" Ansi(11), Ansi(3);
    Muted "muted" Ansi(7), Ansi(8);
    Dim "dim" Ansi(8), Ansi(8);
    Text "text" Own, Own;
    ThinkingText "thinkingText" Ansi(7), Ansi(8);
    SelectedBg "selectedBg" Own, Own;
    UserMessageBg "userMessageBg" Own, Own;
    UserMessageText "userMessageText" Own, Own;
    CustomMessageBg "customMessageBg" Own, Own;
    CustomMessageText "customMessageText" Own, Own;
    CustomMessageLabel "customMessageLabel" Ansi(13), Ansi(5);
    ToolPendingBg "toolPendingBg" Own, Own;
    ToolSuccessBg "toolSuccessBg" Own, Own;
    ToolErrorBg "toolErrorBg" Own, Own;
    ToolTitle "toolTitle" Own, Own;
    ToolOutput "toolOutput" Ansi(7), Ansi(8);
    MdHeading "mdHeading" Ansi(14), Ansi(6);
    MdLink "mdLink" Ansi(12), Ansi(4);
    MdLinkUrl "mdLinkUrl" Ansi(8), Ansi(8);
    MdCode "mdCode" Ansi(11), Ansi(3);
    MdCodeBlock "mdCodeBlock" Own, Own;
    MdCodeBlockBorder "mdCodeBlockBorder" Ansi(8), Ansi(8);
    MdQuote "mdQuote" Ansi(7), Ansi(8);
    MdQuoteBorder "mdQuoteBorder" Ansi(8), Ansi(8);
    MdHr "mdHr" Ansi(8), Ansi(8);
    MdListBullet "mdListBullet" Ansi(14), Ansi(6);
    ToolDiffAdded "toolDiffAdded" Ansi(10), Ansi(2);
    ToolDiffRemoved "toolDiffRemoved" Ansi(9), Ansi(1);
    ToolDiffContext "toolDiffContext" Ansi(7), Ansi(8);
    SyntaxComment "syntaxComment" Ansi(8), Ansi(8);
    SyntaxKeyword "syntaxKeyword" Ansi(13), Ansi(5);
    SyntaxFunction "syntaxFunction" Ansi(12), Ansi(4);
    SyntaxVariable "syntaxVariable" Own, Own;
    SyntaxString "syntaxString" Ansi(10), Ansi(2);
    SyntaxNumber "syntaxNumber" Ansi(11), Ansi(3);
    SyntaxType "syntaxType" Ansi(14), Ansi(6);
    SyntaxOperator "syntaxOperator" Own, Own;
    SyntaxPunctuation "syntaxPunctuation" Own, Own;
    ThinkingOff "thinkingOff" Ansi(8), Ansi(8);
    ThinkingMinimal "thinkingMinimal" Ansi(7), Ansi(8);
    ThinkingLow "thinkingLow" Ansi(12), Ansi(4);
    ThinkingMedium "thinkingMedium" Ansi(14), Ansi(6);
    ThinkingHigh "thinkingHigh" Ansi(13), Ansi(5);
    ThinkingXhigh "thinkingXhigh" Ansi(9), Ansi(1);
    BashMode "bashMode" Ansi(10), Ansi(2);
    ScrollbarTrack "scrollbarTrack" Ansi(8), Ansi(8);
    ScrollbarThumb "scrollbarThumb" Own, Own;
    SearchMatchBg "searchMatchBg" Own, Own;
    SearchMatchText "searchMatchText" Own, Own;
    ThinkingMax "thinkingMax" Ansi(9), Ansi(1);
}

/// The colours of all roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    colors: Vec<Color>,
}

impl Theme {
    /// The terminal's own palette, for text that is light on dark or dark on light.
    pub fn system(scheme: Scheme) -> Self {
        let colors = Role::ALL.iter().map(|role| role.usual(scheme));
        Self {
            colors: colors.collect(),
        }
    }

    /// The colour of a role.
    pub fn color(&self, role: Role) -> Color {
        self.colors
            .get(role as usize)
            .copied()
            .unwrap_or(Color::Default)
    }

    /// The sequence that makes text look so, whatever it looked like before.
    pub fn sequence(&self, style: TextStyle, depth: ColorDepth) -> String {
        let mut codes = vec!["0".to_owned()];
        for attribute in Attribute::ALL {
            if style.has(attribute) {
                codes.push(
                    match attribute {
                        Attribute::Bold => "1",
                        Attribute::Faint => "2",
                        Attribute::Italic => "3",
                        Attribute::Underline => "4",
                        Attribute::Reverse => "7",
                        Attribute::Strike => "9",
                    }
                    .to_owned(),
                );
            }
        }
        let foreground = style.role.map(|role| self.color(role));
        let background = style.background.map(|role| self.color(role));
        codes.extend(foreground.and_then(|color| color.codes(color::Ground::Fore, depth)));
        codes.extend(background.and_then(|color| color.codes(color::Ground::Back, depth)));
        match codes.as_slice() {
            [_] => "\u{1b}[m".to_owned(),
            _ => format!("\u{1b}[{}m", codes.join(";")),
        }
    }
}

#[cfg(test)]
mod tests;
