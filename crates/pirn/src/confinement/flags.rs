//! Flags about confinement, for one run.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use pirn_sandbox::{HostRule, NetworkMode, Profile};

use crate::failure::Failure;
use pirn_settings::FlagValues;

/// Flags about confinement, for one run. They win over the settings.
#[derive(Debug, Default, Args)]
pub(crate) struct ConfinementArguments {
    /// What commands may write [default: workspace-write, or the setting sandbox.profile]
    ///
    /// `off` does not confine them, `workspace-write` lets them write below the working folder and a private temporary
    /// folder, `read-only` only the latter.
    #[arg(
        long,
        value_name = "PROFILE",
        value_parser = PossibleValuesParser::new(Profile::ALL.map(Profile::as_str))
            .map(|name| Profile::from_name(&name).unwrap_or_default()),
        help_heading = "Confinement"
    )]
    sandbox: Option<Profile>,

    /// What commands may reach [default: on, or the setting sandbox.network]
    #[arg(
        long,
        value_name = "MODE",
        value_parser = network_parser(),
        help_heading = "Confinement"
    )]
    network: Option<NetworkMode>,

    /// Let commands reach this host: `example.com`, `*.example.com`, either with `:PORT`; alone it also sets --network allow-list
    #[arg(
        long,
        value_name = "HOST",
        value_delimiter = ',',
        help_heading = "Confinement"
    )]
    allow_host: Vec<HostRule>,

    /// Let tools and commands write in this folder, too; relative to the current one
    #[arg(
        long,
        value_name = "DIR",
        value_hint = ValueHint::DirPath,
        value_parser = absolute_path,
        help_heading = "Confinement"
    )]
    allow_write: Vec<PathBuf>,
}

fn absolute_path(path: &str) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| error.to_string())
}

/// Reads a mode of the network.
pub(crate) fn network_parser() -> impl TypedValueParser<Value = NetworkMode> {
    PossibleValuesParser::new(NetworkMode::ALL.map(NetworkMode::as_str))
        .map(|name| NetworkMode::from_name(&name).unwrap_or_default())
}

/// What was typed about the network, if anything. Hosts alone stand for an allow-list.
pub(crate) fn chosen_network(
    mode: Option<NetworkMode>,
    allow_host: &[HostRule],
) -> Result<Option<NetworkMode>, Failure> {
    match (mode, allow_host) {
        (Some(NetworkMode::On | NetworkMode::Off), [_, ..]) => Err(Failure::usage(
            "--allow-host has a meaning only with --network allow-list",
        )),
        (None, [_, ..]) => Ok(Some(NetworkMode::AllowList)),
        (mode, _) => Ok(mode),
    }
}

/// Adds what was typed about the network of the setting `key`.
pub(crate) fn network_flags(
    key: &'static str,
    mode: Option<NetworkMode>,
    allow_host: &[HostRule],
    flags: &mut FlagValues,
) -> Result<(), Failure> {
    let flag = match mode {
        Some(_) => "--network",
        None => "--allow-host",
    };
    let mode = chosen_network(mode, allow_host)?;
    let hosts: Vec<String> = allow_host.iter().map(ToString::to_string).collect();
    let hosts = (!hosts.is_empty()).then_some(hosts);
    flags.set(flag, key, mode.map(NetworkMode::as_str)).set(
        "--allow-host",
        "sandbox.allowedHosts",
        hosts,
    );
    Ok(())
}

impl ConfinementArguments {
    /// Adds what was typed. Fails where that says two things at once.
    pub(crate) fn add_to(&self, flags: &mut FlagValues) -> Result<(), Failure> {
        let profile = self.sandbox.map(Profile::as_str);
        let folders = self.allow_write.iter();
        let folders: Vec<String> = folders
            .map(|folder| folder.to_string_lossy().into_owned())
            .collect();
        let folders = (!folders.is_empty()).then_some(folders);
        flags.set("--sandbox", "sandbox.profile", profile).set(
            "--allow-write",
            "sandbox.writeRoots",
            folders,
        );
        network_flags("sandbox.network", self.network, &self.allow_host, flags)
    }
}
