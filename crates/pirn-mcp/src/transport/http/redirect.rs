//! Where a redirect may lead: nowhere that would see tokens meant for another.

use http::{Method, StatusCode};
use url::Url;

/// Why a redirect is not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RedirectProblem {
    /// It leads to another origin.
    OtherOrigin {
        /// Where to, without query and credentials.
        target: String,
    },
    /// It asks for the answer of a POST to be fetched elsewhere, which the protocol does not know.
    SeeOther {
        /// Where to, without query and credentials.
        target: String,
    },
    /// It has no usable `Location`.
    NoTarget,
    /// One redirect led to another too often.
    TooMany,
}

/// Where a response sends its request next; `None` where it is no redirect.
///
/// Only the same origin is followed, or from http to https on the same host and (unless both are the default) port. The
/// method stays: a POST stays a POST also at 301 and 302, where RFC 9110 allows either, because a GET in its place would make
/// no sense here.
pub(crate) fn next_hop(
    method: &Method,
    from: &Url,
    status: StatusCode,
    location: Option<&str>,
) -> Result<Option<Url>, RedirectProblem> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let target = location
        .and_then(|location| from.join(location).ok())
        .ok_or(RedirectProblem::NoTarget)?;
    if !may_follow(from, &target) {
        return Err(RedirectProblem::OtherOrigin {
            target: shown(&target),
        });
    }
    if status == StatusCode::SEE_OTHER && method == Method::POST {
        return Err(RedirectProblem::SeeOther {
            target: shown(&target),
        });
    }
    Ok(Some(target))
}

/// Whether what is meant for `from` may be sent to `target`.
pub(crate) fn may_follow(from: &Url, target: &Url) -> bool {
    if from.origin() == target.origin() {
        return true;
    }
    from.scheme() == "http"
        && target.scheme() == "https"
        && from.host() == target.host()
        && from.port() == target.port()
}

/// A URL for people: without query, fragment and credentials, which may be secrets.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Fails only for URLs that cannot have any.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}
