//! Which permissions a sign-in asks for.

use super::metadata::Metadata;

/// The scope that asks for a refresh token, where a server knows it.
pub(super) const OFFLINE_ACCESS: &str = "offline_access";

/// Where the scopes of a sign-in come from; each separated by spaces, empty as good as absent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ScopeSources<'a> {
    pub(super) configured: Option<&'a str>,
    /// The refusal that leads to this sign-in.
    pub(super) challenged: Option<&'a str>,
    /// What the present token is good for, where it lacks something: a new one must not lose it.
    pub(super) granted: Option<&'a str>,
    /// What the resource's metadata lists; counts only where nothing else does.
    pub(super) supported: &'a [String],
}

/// The scopes to ask for, separated by spaces; `None` leaves the choice to the server.
pub(super) fn select(sources: ScopeSources<'_>, metadata: Option<&Metadata>) -> Option<String> {
    let mut scopes: Vec<&str> = Vec::new();
    let named = [sources.granted, sources.configured, sources.challenged];
    for scope in named.into_iter().flatten().flat_map(str::split_whitespace) {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    if scopes.is_empty() {
        let supported = sources
            .supported
            .iter()
            .flat_map(|scope| scope.split_whitespace());
        for scope in supported {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
    }
    let knows_offline_access = metadata.is_some_and(|metadata| {
        metadata
            .scopes_supported
            .iter()
            .any(|scope| scope == OFFLINE_ACCESS)
    });
    // Alone it would narrow what a server gives when it is asked for nothing.
    if knows_offline_access && !scopes.is_empty() && !scopes.contains(&OFFLINE_ACCESS) {
        scopes.push(OFFLINE_ACCESS);
    }
    (!scopes.is_empty()).then(|| scopes.join(" "))
}

/// Both, each scope once, in order of appearance.
pub(super) fn union(left: Option<&str>, right: Option<&str>) -> Option<String> {
    let sources = ScopeSources {
        configured: left,
        challenged: right,
        ..ScopeSources::default()
    };
    select(sources, None)
}

/// Whether a list holds a scope.
pub(super) fn contains(scopes: &str, wanted: &str) -> bool {
    scopes.split_whitespace().any(|scope| scope == wanted)
}

#[cfg(test)]
mod tests;
