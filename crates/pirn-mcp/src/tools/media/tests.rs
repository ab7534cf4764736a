use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n1234";

fn shown(add: impl FnOnce(&mut Media, &SpillFolder)) -> (String, Vec<Vec<u8>>) {
    let folder = tempfile::tempdir().unwrap();
    let mut media = Media::default();
    add(&mut media, &SpillFolder::new(folder.path()));
    let files = media
        .saved
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    let mut text = match media.content.as_slice() {
        [ContentBlock::Text { text }] => text.clone(),
        [ContentBlock::Image { data, mime_type }] => format!("image {mime_type} {data}"),
        [ContentBlock::Audio { data, mime_type }] => format!("audio {mime_type} {data}"),
        other => panic!("{other:?}"),
    };
    for path in &media.saved {
        let name = path.file_stem().unwrap().to_str().unwrap();
        text = text
            .replace(&folder.path().display().to_string(), "FOLDER")
            .replace(name, "NAME");
    }
    (text, files)
}

#[test]
fn images_count_by_their_bytes() {
    let png = STANDARD.encode(PNG);
    let cases: [(String, &str, String, usize); 6] = [
        (
            png.clone(),
            "image/png",
            format!("image image/png {png}"),
            0,
        ),
        (
            png.clone(),
            "image/jpeg",
            format!("image image/png {png}"),
            0,
        ),
        (
            format!("data:image/png;base64,{png}"),
            "",
            format!("image image/png {png}"),
            0,
        ),
        (
            png.trim_end_matches('=').to_owned() + "\n",
            "image/png",
            format!("image image/png {png}"),
            0,
        ),
        (
            STANDARD.encode("<svg/>"),
            "image/svg+xml",
            "[Image (image/svg+xml, 6 B) saved to FOLDER/NAME.svg]".to_owned(),
            1,
        ),
        (
            "no base64!".to_owned(),
            "image/png",
            "[Image (image/png, not valid base64) cannot be shown]".to_owned(),
            0,
        ),
    ];
    for (data, declared, expected, files) in cases {
        let (text, saved) = shown(|media, spill| media.image(&data, declared, spill));
        assert_eq!((text, saved.len()), (expected, files), "{data}");
    }
}

#[test]
fn sounds_stay_sounds() {
    let (text, _) = shown(|media, _| media.audio("UklGRg", "audio/wav"));
    assert_eq!(text, "audio audio/wav UklGRg==");
    let (text, _) = shown(|media, _| media.audio("?", ""));
    assert_eq!(text, "[Audio (not valid base64) cannot be shown]");
}

#[test]
fn blobs_are_text_images_or_files() {
    let png = STANDARD.encode(PNG);
    let cases: [(String, &str, &str, String); 9] = [
        (STANDARD.encode("{}"), "application/json; charset=utf-8", "a:b", "{}".to_owned()),
        (STANDARD.encode("ä"), "Text/Plain", "a:b", "ä".to_owned()),
        (STANDARD.encode("<a/>"), "application/atom+xml", "a:b", "<a/>".to_owned()),
        (png.clone(), "application/octet-stream", "a:b", format!("image image/png {png}")),
        (
            STANDARD.encode(b"\xff\xfe"),
            "text/plain",
            "file:///tmp/A.TXT",
            "[Resource file:///tmp/A.TXT (text/plain, 2 B) saved to FOLDER/NAME.txt]".to_owned(),
        ),
        (
            STANDARD.encode("%PDF"),
            "application/pdf",
            "https://a.example/x/report.pdf?download=1.zip#2",
            "[Resource https://a.example/x/report.pdf?download=1.zip#2 (application/pdf, 4 B) saved to FOLDER/NAME.pdf]"
                .to_owned(),
        ),
        (
            STANDARD.encode("x"),
            "",
            "x://h/..%2f.s-h",
            "[Resource x://h/..%2f.s-h (1 B) saved to FOLDER/NAME.bin]".to_owned(),
        ),
        (
            STANDARD.encode("x"),
            "",
            "x://h/.bashrc",
            "[Resource x://h/.bashrc (1 B) saved to FOLDER/NAME.bin]".to_owned(),
        ),
        ("~".to_owned(), "", "x:y", "[Resource x:y (not valid base64) cannot be shown]".to_owned()),
    ];
    for (data, declared, uri, expected) in cases {
        let (text, _) = shown(|media, spill| media.blob(&data, declared, uri, spill));
        assert_eq!(text, expected, "{uri}");
    }
}

#[test]
fn what_cannot_be_saved_is_said() {
    let (text, _) = shown(|media, _| {
        media.blob(&STANDARD.encode("x"), "", "x:y", &SpillFolder::none());
    });
    assert_eq!(
        text,
        "[Resource x:y (1 B) could not be saved: no folder for such files is set]"
    );
}
