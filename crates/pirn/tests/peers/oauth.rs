//! Signing in, from the first refusal to signing out, with `FastMCP` and its in-memory OAuth provider.

mod paste;
mod peer;
mod renewal;
mod secrets;
mod sign_in;
mod trouble;
