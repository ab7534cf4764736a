//! One colour, and how terminals of less depth show it.

/// A colour as a theme names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// What the terminal uses by itself.
    Default,
    /// One of the sixteen of the terminal's palette.
    Ansi(u8),
    /// One of 256, of which those above 15 are the same everywhere.
    Indexed(u8),
    /// Red, green and blue.
    Rgb([u8; 3]),
}

/// How many colours a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColorDepth {
    /// No colours; what stands out does so otherwise.
    None,
    /// The sixteen of its palette.
    Ansi,
    /// A fixed palette of 256.
    Indexed,
    /// Red, green and blue with 256 steps each.
    True,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    Fore,
    Back,
}

impl Color {
    /// The parameters of the sequence for it; `None` where the terminal's own colour stays.
    pub(super) fn codes(self, ground: Ground, depth: ColorDepth) -> Option<String> {
        let base = match ground {
            Ground::Fore => 30,
            Ground::Back => 40,
        };
        let ansi = |index: u8| match index {
            0..=7 => (base + u32::from(index)).to_string(),
            _ => (base + 60 + u32::from(index - 8)).to_string(),
        };
        match (depth, self) {
            (ColorDepth::None, _) | (_, Self::Default) => None,
            (_, Self::Ansi(index)) => Some(ansi(index)),
            (ColorDepth::Ansi, color) => Some(ansi(color.nearest_ansi())),
            (ColorDepth::Indexed | ColorDepth::True, Self::Indexed(index)) => {
                Some(format!("{};5;{index}", base + 8))
            }
            (ColorDepth::Indexed, Self::Rgb(rgb)) => {
                Some(format!("{};5;{}", base + 8, nearest_indexed(rgb)))
            }
            (ColorDepth::True, Self::Rgb([red, green, blue])) => {
                Some(format!("{};2;{red};{green};{blue}", base + 8))
            }
        }
    }

    fn nearest_ansi(self) -> u8 {
        match self {
            Self::Default => 7,
            Self::Ansi(index) | Self::Indexed(index @ 0..=15) => index,
            Self::Indexed(index) => nearest(indexed_rgb(index), &ANSI),
            Self::Rgb(rgb) => nearest(rgb, &ANSI),
        }
    }

    /// Red, green and blue; those of the terminal's palette as xterm has them.
    pub fn rgb(self) -> Option<[u8; 3]> {
        match self {
            Self::Default => None,
            Self::Ansi(index) | Self::Indexed(index @ 0..=15) => {
                ANSI.get(usize::from(index)).copied()
            }
            Self::Indexed(index) => Some(indexed_rgb(index)),
            Self::Rgb(rgb) => Some(rgb),
        }
    }
}

/// The sixteen colours as xterm shows them.
const ANSI: [[u8; 3]; 16] = [
    [0, 0, 0],
    [205, 0, 0],
    [0, 205, 0],
    [205, 205, 0],
    [0, 0, 238],
    [205, 0, 205],
    [0, 205, 205],
    [229, 229, 229],
    [127, 127, 127],
    [255, 0, 0],
    [0, 255, 0],
    [255, 255, 0],
    [92, 92, 255],
    [255, 0, 255],
    [0, 255, 255],
    [255, 255, 255],
];

/// The steps of each part in the cube of 6 × 6 × 6 colours.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

fn indexed_rgb(index: u8) -> [u8; 3] {
    if index >= 232 {
        return [8 + 10 * (index - 232); 3];
    }
    let place = usize::from(index.saturating_sub(16));
    let step = |part: usize| STEPS.get(part % 6).copied().unwrap_or_default();
    [step(place / 36), step(place / 6), step(place)]
}

fn nearest_indexed(rgb: [u8; 3]) -> u8 {
    (16..=255)
        .min_by_key(|index| distance(indexed_rgb(*index), rgb))
        .unwrap_or(16)
}

fn nearest(rgb: [u8; 3], palette: &[[u8; 3]]) -> u8 {
    let nearest = (0..)
        .zip(palette)
        .min_by_key(|(_, color)| distance(**color, rgb));
    nearest.map_or(7, |(index, _)| index)
}

fn distance(one: [u8; 3], other: [u8; 3]) -> u32 {
    one.iter()
        .zip(other)
        .map(|(one, other)| u32::from(one.abs_diff(other)).pow(2))
        .sum()
}
