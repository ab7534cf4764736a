#!/bin/sh
# Runs the whole of Pirn as a unit of systemd: the file system is read-only but for the workspace, home folders and /run are
# empty, memory and processes are bounded. As an ordinary user it is a unit of that user's systemd; as root it runs as the
# owner of the workspace. Processes of that user stay visible and can be signalled.
#
#   systemd.sh WORKSPACE PIRN-ARGUMENT...
#   systemd.sh ~/project exec --yes=process - < script.ts
#
# PIRN     the program, instead of the `pirn` on PATH
# NETWORK  `on` shares the network; otherwise there is none
set -eu
workspace=$(realpath -- "$1")
shift
pirn=$(realpath -- "${PIRN:-$(command -v pirn)}")

# What follows `env -i` is all there is of an environment: systemd's own has the way to its sockets.
set -- /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/tmp LANG=C.UTF-8 TERM=dumb "$pirn" "$@"
set -- --property=BindPaths="$workspace" --property=BindReadOnlyPaths="$pirn" --working-directory="$workspace" -- "$@"
# Sockets below /run lead to programs outside, the user's systemd among them, which would start anything for whoever asks.
set -- --property=TemporaryFileSystem=/run --property=BindReadOnlyPaths=-/run/systemd/resolve "$@"
set -- --property=ProtectSystem=strict --property=ReadWritePaths="$workspace" --property=ProtectHome=tmpfs "$@"
set -- --property=PrivateTmp=yes --property=PrivateDevices=yes --property=ProtectProc=invisible "$@"
# Not RestrictSUIDSGID: it takes away a system call that Pirn's own confinement needs, and which does the same inside.
set -- --property=NoNewPrivileges=yes --property=CapabilityBoundingSet= "$@"
set -- --property=MemoryMax=4G --property=TasksMax=4096 "$@"
if [ "${NETWORK:-off}" != on ]; then
  set -- --property=PrivateNetwork=yes "$@"
fi
if [ "$(id -u)" = 0 ]; then
  set -- --uid="$(stat -c %u "$workspace")" --gid="$(stat -c %g "$workspace")" "$@"
else
  set -- --user --property=PrivateUsers=yes "$@"
fi
exec systemd-run --quiet --collect --wait --pipe "$@"
