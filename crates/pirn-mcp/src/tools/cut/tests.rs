use proptest::prelude::*;

use super::*;

#[test]
fn a_long_text_loses_its_middle_and_names_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let spill = SpillFolder::new(folder.path());
    let image = ContentBlock::Image {
        data: "AAAA".to_owned(),
        mime_type: "image/png".to_owned(),
    };
    let line = "é0123456\n".repeat(3_000);
    let fitted = fit(
        vec![
            ContentBlock::text("first"),
            image.clone(),
            ContentBlock::text(&line),
        ],
        &spill,
    );
    let path = fitted.full_text.unwrap();
    let whole = format!("first\n{line}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
    assert_eq!(fitted.content.len(), 2);
    assert_eq!(fitted.content[1], image);
    let text = fitted.content[0].as_text().unwrap();
    assert!(
        text.len() <= TEXT_BYTES_MAX && text.len() > TEXT_BYTES_MAX - 8,
        "{}",
        text.len()
    );
    let start = "Warning: output truncated (original token count: 7502)\nTotal output lines: 3002\n\nfirst\né0123456\n";
    assert!(text.starts_with(start), "{text}");
    let end = format!(
        "é0123456\n\n\n[Full output: {} (read with offset/limit)]",
        path.display()
    );
    assert!(text.ends_with(&end), "{text}");
    assert!(text.contains(" chars truncated…"), "{text}");
}

#[test]
fn a_text_at_the_limit_stays() {
    for (bytes, is_cut) in [(TEXT_BYTES_MAX, false), (TEXT_BYTES_MAX + 1, true)] {
        let blocks = vec![
            ContentBlock::text("a"),
            ContentBlock::text("b".repeat(bytes - 2)),
        ];
        let fitted = fit(blocks.clone(), &SpillFolder::none());
        assert_eq!(fitted.content != blocks, is_cut, "{bytes}");
        assert_eq!(fitted.full_text, None);
        if is_cut {
            let text = fitted.content[0].as_text().unwrap();
            let end = "\n\n[The full output could not be saved: no folder for such files is set]";
            assert!(text.ends_with(end), "{text}");
        }
    }
}

#[test]
fn json_is_kept_as_json() {
    for (text, expected) in [
        ("{\"a\": 1}", "json"),
        ("[1]", "json"),
        ("{a}", "txt"),
        ("1", "txt"),
    ] {
        assert_eq!(extension(text), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn a_cut_text_fits_and_counts_what_it_lost(
        text in "([^…\\pC]|\n){600,900}",
        place in "\\PC{0,30}",
        limit in 300_usize..600,
    ) {
        let cut = cut_middle(&text, &place, limit);
        prop_assert!(cut.len() <= limit, "{} > {limit}", cut.len());
        let body = cut
            .split_once("\n\n")
            .and_then(|(_, rest)| rest.strip_suffix(&format!("\n\n[{place}]")))
            .unwrap();
        let (head, (lost, tail)) = body
            .split_once('…')
            .and_then(|(head, rest)| Some((head, rest.split_once(" chars truncated…")?)))
            .unwrap();
        prop_assert!(text.starts_with(head) && text.ends_with(tail));
        prop_assert_eq!(
            lost.parse::<usize>().unwrap() + head.chars().count() + tail.chars().count(),
            text.chars().count()
        );
    }
}
