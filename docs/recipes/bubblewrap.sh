#!/bin/sh
# Runs the whole of Pirn under bubblewrap: it finds the system's programs, the workspace, and nothing else of yours.
#
#   bubblewrap.sh WORKSPACE PIRN-ARGUMENT...
#   bubblewrap.sh ~/project exec --yes=process - < script.ts
#
# PIRN     the program, instead of the `pirn` on PATH
# NETWORK  `on` shares the network; otherwise there is none
set -eu
workspace=$(realpath -- "$1")
shift
pirn=$(realpath -- "${PIRN:-$(command -v pirn)}")

# Built from the back: what comes first is added last.
set -- --remount-ro / --chdir "$workspace" "$pirn" "$@"
set -- --bind "$workspace" "$workspace" --ro-bind "$pirn" "$pirn" "$@"
# The home folder is an empty one that lives in memory, so nothing that is written there is left afterwards.
set -- --proc /proc --dev /dev --tmpfs /tmp --tmpfs /run --tmpfs /home/user "$@"
for name in passwd group nsswitch.conf hosts resolv.conf ssl ca-certificates alternatives ld.so.cache ld.so.conf ld.so.conf.d; do
  set -- --ro-bind-try "/etc/$name" "/etc/$name" "$@"
done
# On most systems these are links into /usr, on some they are folders.
for folder in /bin /sbin /lib /lib64; do
  if [ -L "$folder" ]; then
    set -- --symlink "$(readlink "$folder")" "$folder" "$@"
  elif [ -d "$folder" ]; then
    set -- --ro-bind "$folder" "$folder" "$@"
  fi
done
set -- --ro-bind /usr /usr "$@"
# Keys and tokens of your environment stay outside. Name here what Pirn shall have.
set -- --clearenv --setenv PATH /usr/local/bin:/usr/bin:/bin --setenv HOME /home/user --setenv LANG C.UTF-8 \
  --setenv TERM "${TERM:-dumb}" "$@"
if [ "${NETWORK:-off}" = on ]; then
  set -- --share-net "$@"
fi
# Root without its capabilities cannot be mapped once more, which Pirn's own confinement needs: inside it is another number.
if [ "$(id -u)" = 0 ]; then
  set -- --unshare-user --uid 1000 --gid 1000 "$@"
fi
# A session of its own keeps what runs inside from typing on your terminal. Nobody can be asked then: allow effects by --yes.
exec bwrap --unshare-all --die-with-parent --new-session --cap-drop ALL "$@"
