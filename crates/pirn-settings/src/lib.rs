//! Settings: `settings.json` in Pirn's folder, and the project's `.pirn/settings.json` where the project is trusted.
//!
//! One table has all settings; reading, messages, `docs/settings.md` and `docs/settings.schema.json` come from it.
//! [`Settings::load`] reads the files and the variables that stand for settings, [`Settings::load_with_flags`] the flags of a
//! command too; both return what is wrong as [`Problem`]s, and where each value comes from. A project can make things stricter,
//! never weaker: what it asks for beyond the user's own settings is left out, and a note says so.
//!
//! A project can bring files that start programs or change what a model is told: [`ProjectFileKind`] lists them. They count
//! only when the user trusts the folder. [`TrustStore`] keeps decisions; [`ProjectTrust`] says in which order flags, hooks,
//! decisions, the setting and a question count; whoever has a user at hand puts the question. Trust decides what is loaded; it
//! keeps nothing from what a script may do.
//!
//! This crate prints nothing, and reads neither the environment nor the user's home folder: [`HostEnv`] is passed in.
//!
//! ```
//! use pirn_settings::{HostEnv, Settings, Trust};
//!
//! let host = HostEnv::default();
//! let loaded = Settings::load("/srv/project".as_ref(), Trust::Untrusted, &host);
//! assert_eq!(loaded.settings, Settings::default());
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod document;
mod edit;
mod host_env;
mod overrides;
mod project;
mod rows;
mod settings;
mod source;
pub mod table;
#[cfg(test)]
mod tests;
mod trust;
mod values;

pub use edit::{ChangeError, SettingKey, SettingValue, UnknownSetting, settings_file};
pub use host_env::HostEnv;
pub use overrides::{FlagValues, setting_variables};
pub use settings::{Loaded, add_to_list, project_file, user_file};
pub use source::{Layer, Source, Sources};
pub use table::{Place, Problem, Severity};
pub use trust::{
    Decision, DefaultTrust, HookAnswer, PROJECT_PYTHONS, ProjectFile, ProjectFileKind,
    ProjectTrust, Reason, StoreError, Trust, TrustAnswer, TrustHook, TrustOffer, TrustStore,
    UserFolders, Verdict, project_folder,
};
pub use values::{
    BashSettings, CodemodeMode, CodemodeSettings, EvalEngine, EvalSettings, ReadableMode,
    SandboxSettings, Settings, THE_DEFAULTS, TuiMode, TuiSettings,
};
