//! Who we are, and who else is there.

/// The user this process acts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) id: u32,
    pub(crate) group: u32,
}

/// The user this process acts as.
pub(crate) fn user() -> User {
    // SAFETY: takes nothing and cannot fail.
    unsafe {
        User {
            id: libc::geteuid(),
            group: libc::getegid(),
        }
    }
}
