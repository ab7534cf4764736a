//! Which of many names is meant by a few letters.

/// How well a name fits: `None` when letters of the query are missing in it. More is better.
pub(crate) fn score(name: &str, query: &str) -> Option<i64> {
    let name: Vec<char> = name.chars().flat_map(char::to_lowercase).collect();
    let mut total = 0;
    for word in query.split_whitespace() {
        let word: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
        total += word_score(&name, &word)?;
    }
    // Of names that fit alike the shorter one is meant.
    Some(total * 100 - i64::try_from(name.len()).unwrap_or(i64::MAX / 200))
}

/// Letters in order; runs and starts of words count more.
fn word_score(name: &[char], word: &[char]) -> Option<i64> {
    let mut score = 0;
    let mut from = 0;
    let mut last = None;
    for letter in word {
        let rest = name.get(from..)?;
        let at = from + rest.iter().position(|candidate| candidate == letter)?;
        let before = at.checked_sub(1);
        if before.is_some() && before == last {
            score += 4;
        } else if before.is_none_or(|before| {
            name.get(before)
                .is_some_and(|before| !before.is_alphanumeric())
        }) {
            score += 3;
        } else {
            score += 1;
        }
        last = Some(at);
        from = at + 1;
    }
    Some(score)
}

/// The names that fit, the best first.
pub(crate) fn best<'a, T>(items: &'a [T], query: &str, name: impl Fn(&T) -> &str) -> Vec<&'a T> {
    let mut fitting: Vec<(i64, usize, &T)> = items
        .iter()
        .enumerate()
        .filter_map(|(index, item)| score(name(item), query).map(|score| (score, index, item)))
        .collect();
    fitting.sort_by_key(|(score, index, _)| (std::cmp::Reverse(*score), *index));
    fitting.into_iter().map(|(_, _, item)| item).collect()
}
