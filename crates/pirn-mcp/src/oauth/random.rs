//! What nobody may guess: states and PKCE verifiers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::secret::Secret;

/// As RFC 7636 recommends.
const BYTES: usize = 32;

/// A fresh secret of 43 characters that need no escaping in URLs. Fails where the system has no randomness.
pub(super) fn secret() -> Result<Secret, getrandom::Error> {
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}

/// The challenge of a PKCE verifier, method S256.
pub(super) fn challenge(verifier: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose()))
}

#[cfg(test)]
mod tests {
    use super::{challenge, secret};
    use crate::secret::Secret;

    #[test]
    fn the_example_of_the_rfc() {
        let verifier = Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(
            challenge(&verifier),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" // typos:ignore
        );
    }

    #[test]
    fn no_two_are_equal() {
        let (one, other) = (secret().unwrap(), secret().unwrap());
        assert_eq!(one.expose().len(), 43);
        assert!(one != other);
    }
}
