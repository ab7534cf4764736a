//! Which version of Landlock the kernel has.

use std::io;

use super::errno;

/// How often the kernel has to say that it has none: a filter around us may refuse a call that it does not know.
const REFUSALS_NEEDED: usize = 2;

/// The version of the interface; 0 where there is none. Fails when it cannot be found out.
pub(crate) fn landlock_version() -> io::Result<u32> {
    /// `LANDLOCK_CREATE_RULESET_VERSION` of the kernel's headers.
    const ASK_FOR_VERSION: libc::c_uint = 1;
    let mut refusals = 0;
    loop {
        // SAFETY: with this flag the kernel takes no structure, only a null pointer and no length.
        let version = unsafe {
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                std::ptr::null::<libc::c_void>(),
                0_usize,
                ASK_FOR_VERSION,
            )
        };
        if let Ok(version) = u32::try_from(version) {
            return Ok(version);
        }
        match errno() {
            libc::ENOSYS | libc::EOPNOTSUPP | libc::EPERM => refusals += 1,
            errno => return Err(io::Error::from_raw_os_error(errno)),
        }
        if refusals == REFUSALS_NEEDED {
            return Ok(0);
        }
    }
}
