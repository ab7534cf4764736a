#!/bin/sh
# Runs the whole of Pirn in a container: it finds the image's programs, the workspace, and nothing else of yours.
#
#   container.sh WORKSPACE PIRN-ARGUMENT...
#   container.sh ~/project exec --yes=process - < script.ts
#
# PIRN     the program, instead of the `pirn` on PATH; the image needs a C library at least as new as the one it was built for
# ENGINE   `podman` (what is taken) or `docker`
# IMAGE    instead of `pirn-recipe`, which Containerfile makes
# NETWORK  the engine's network, such as `bridge`; otherwise `none`
# NESTED   `on` opens the engine's own filter far enough that Pirn can confine its commands at its strongest level
set -eu
workspace=$(realpath -- "$1")
shift
pirn=$(realpath -- "${PIRN:-$(command -v pirn)}")
engine=${ENGINE:-podman}

set -- "${IMAGE:-pirn-recipe}" pirn "$@"
set -- --volume "$workspace:$workspace" --workdir "$workspace" --volume "$pirn:/usr/local/bin/pirn:ro" "$@"
# The root cannot be written, and the home folder lives in memory: nothing is left but what is in the workspace.
set -- --read-only --tmpfs /tmp:exec,mode=1777 --tmpfs /home/user:exec,mode=1777 --env HOME=/home/user "$@"
set -- --cap-drop all --security-opt no-new-privileges --pids-limit 4096 --memory 4g --network "${NETWORK:-none}" "$@"
# Files in the workspace keep their owner: Podman without root maps you to yourself, else the numbers are the same outside.
if [ "$engine" = podman ] && [ "$(id -u)" != 0 ]; then
  set -- --userns keep-id "$@"
else
  set -- --user "$(id -u):$(id -g)" "$@"
fi
# Podman's filter lets Pirn make namespaces; what it masks below /proc keeps a new /proc from being mounted. Docker forbids both.
if [ "${NESTED:-off}" = on ]; then
  if [ "$engine" = podman ]; then
    set -- --security-opt unmask=ALL "$@"
  else
    set -- --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined "$@"
  fi
fi
if [ -t 0 ]; then
  set -- --tty "$@"
fi
exec "$engine" run --rm --interactive "$@"
