use super::{Data, Image, with_global_export, with_image};

const MEMORY: &[u8] = &[5, 3, 1, 0, 2];
/// One mutable number of 32 bits that begins as 1024.
const GLOBAL: &[u8] = &[6, 7, 1, 0x7f, 1, 0x41, 0x80, 8, 0x0b];
/// `memory`, memory 0, and `build`, function 0.
const EXPORTS: &[u8] = &[
    7, 18, 2, 6, b'm', b'e', b'm', b'o', b'r', b'y', 2, 0, 5, b'b', b'u', b'i', b'l', b'd', 0, 0,
];
/// Two bytes at 7.
const DATA: &[u8] = &[11, 8, 1, 0, 0x41, 7, 0x0b, 2, 1, 2];

fn module(sections: &[&[u8]]) -> Vec<u8> {
    [b"\0asm\x01\0\0\0", sections.concat().as_slice()].concat()
}

fn image(bytes: &[u8]) -> Image<'_> {
    Image {
        pages: 300,
        data: vec![
            Data { offset: 64, bytes },
            Data {
                offset: 1 << 20,
                bytes: &[9],
            },
        ],
        removed_exports: &["build"],
    }
}

#[test]
fn memory_data_and_exports_are_replaced() {
    let given = module(&[MEMORY, GLOBAL, EXPORTS, &[12, 1, 1], DATA]);
    let wanted = module(&[
        &[5, 4, 1, 0, 0xac, 2],
        GLOBAL,
        &[7, 10, 1, 6, b'm', b'e', b'm', b'o', b'r', b'y', 2, 0],
        &[12, 1, 2],
        &[
            11, 19, 2, 0, 0x41, 0xc0, 0, 0x0b, 3, 1, 0, 3, 0, 0x41, 0x80, 0x80, 0xc0, 0, 0x0b, 1, 9,
        ],
    ]);
    assert_eq!(with_image(&given, &image(&[1, 0, 3])), Ok(wanted));
}

#[test]
fn the_global_is_exported() {
    let given = module(&[MEMORY, GLOBAL, &[7, 5, 1, 1, b'a', 0, 0]]);
    let wanted = module(&[
        MEMORY,
        GLOBAL,
        &[7, 10, 2, 1, b'a', 0, 0, 2, b's', b'p', 3, 0],
    ]);
    assert_eq!(with_global_export(&given, "sp"), Ok(wanted));
}

#[test]
fn what_would_be_lost_is_refused() {
    let two_globals = [6, 11, 2, 0x7f, 1, 0x41, 0, 0x0b, 0x7f, 1, 0x41, 0, 0x0b];
    let given = module(&[MEMORY, &two_globals]);
    let refused = with_global_export(&given, "sp").unwrap_err();
    assert!(
        refused.ends_with("it has 2 globals instead of one"),
        "{refused}"
    );
    for (sections, why) in [
        (module(&[MEMORY, &[8, 1, 0]]), "it starts by itself"),
        (
            module(&[&[5, 4, 1, 1, 2, 3]]),
            "it does not have one memory that can grow",
        ),
        (module(&[&[5, 9, 1]]), "it ends too early"),
        (b"PK\x03\x04\0\0\0\0".to_vec(), "it is not WebAssembly"),
    ] {
        let refused = with_image(&sections, &image(&[1])).unwrap_err();
        assert!(refused.ends_with(why), "{refused}");
    }
}
