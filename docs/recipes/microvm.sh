#!/bin/sh
# Runs the whole of Pirn in a virtual machine with a kernel of its own: it finds the system's programs (read-only), the
# workspace, no network, and nothing else of yours. Needs qemu-system-x86_64, a static busybox, cpio, and a kernel with its
# modules, such as the one that runs.
#
#   microvm.sh WORKSPACE PIRN-ARGUMENT...
#   microvm.sh ~/project exec --yes=process - < script.ts
#
# PIRN     the program, instead of the `pirn` on PATH
# KERNEL   instead of /boot/vmlinuz-$(uname -r)
# MODULES  the folder of its modules, instead of /lib/modules/$(uname -r)
# ACCEL    `kvm` (what is taken) or `tcg`, which needs nothing of the processor and is many times slower
set -eu
workspace=$(realpath -- "$1")
shift
pirn=$(realpath -- "${PIRN:-$(command -v pirn)}")
kernel=${KERNEL:-/boot/vmlinuz-$(uname -r)}
modules=${MODULES:-/lib/modules/$(uname -r)}
accel=${ACCEL:-kvm}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch" "$scratch.cpio"' EXIT
trap 'exit 129' HUP INT TERM

quoted() {
  printf "'%s' " "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
}

# What the machine starts from: busybox, Pirn, its arguments and its input, and the modules for files over 9p.
mkdir -p "$scratch/bin" "$scratch/pirn"
cp "$(command -v busybox)" "$scratch/bin/busybox"
cp "$pirn" "$scratch/pirn/pirn"
if [ -t 0 ]; then : > "$scratch/pirn/input"; else cat > "$scratch/pirn/input"; fi
{
  printf 'cd %s\nexec /pirn/pirn ' "$(quoted "$workspace")"
  for argument in "$@"; do quoted "$argument"; done
} > "$scratch/pirn/run"
printf 'workspace=%s\nuser=%s\ngroup=%s\n' "$(quoted "$workspace")" "$(id -u)" "$(id -g)" > "$scratch/settings"
number=10
for name in virtio_ring virtio virtio_mmio netfs fscache 9pnet 9pnet_virtio 9p; do
  # In the order of their dependencies; what is not found is built into the kernel.
  file=$(find "$modules/kernel" -name "$name.ko*" | head -n 1)
  case $file in
    *.ko) cp "$file" "$scratch/$number.ko" ;;
    *.xz) xz -dc "$file" > "$scratch/$number.ko" ;;
    *.zst) zstd -qdc "$file" > "$scratch/$number.ko" ;;
  esac
  number=$((number + 1))
done
chmod -R a+rX "$scratch/pirn"

cat > "$scratch/init" << 'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
. /settings
mkdir -p /proc /dev /root
mount -t proc proc /proc
mount -t devtmpfs dev /dev
for module in /*.ko; do insmod "$module"; done
# A root in memory, with the system's programs and the workspace.
mount -t tmpfs root /root
cd /root
mkdir -p bin proc sys dev tmp run etc usr pirn home/user "./$workspace"
rmdir bin
for name in bin sbin lib lib64; do ln -s "usr/$name" "$name"; done
chmod 1777 tmp
chown "$user:$group" home/user
options=trans=virtio,version=9p2000.L,msize=262144
mount -t 9p -o "$options,cache=loose,ro,nosuid,nodev" usr usr
mount -t 9p -o "$options,cache=mmap,nosuid,nodev" workspace "./$workspace"
mount -t proc -o nosuid,nodev,noexec proc proc
mount -t sysfs -o ro,nosuid,nodev,noexec sys sys
mount -t devtmpfs dev dev
mkdir -p dev/pts dev/shm
mount -t devpts -o mode=620,ptmxmode=666 devpts dev/pts
mount -t tmpfs -o mode=1777,nosuid,nodev shm dev/shm
mount -o bind /pirn pirn
printf 'root:x:0:0::/:/bin/sh\nuser:x:%s:%s::/home/user:/bin/sh\n' "$user" "$group" > etc/passwd
ip link set lo up
stty -F /dev/ttyS0 raw
# In a root that was only changed into, user namespaces could not be made.
mount -o move . /
env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/user LANG=C.UTF-8 TERM=dumb \
  chroot . /usr/bin/setpriv --reuid "$user" --regid "$group" --clear-groups --bounding-set -all --no-new-privs \
  /bin/sh /pirn/run < /pirn/input > /dev/ttyS0 2>&1
# A port of the machine ends it with this code.
printf "\\$(printf %03o $?)" | dd of=/dev/port bs=1 seek=$((0xf4)) conv=notrunc 2> /dev/null
reboot -f
INIT
chmod +x "$scratch/init"
(cd "$scratch" && find . | cpio --quiet -o -H newc) > "$scratch.cpio"

clock=
if [ "$accel" = tcg ]; then
  # An emulated clock on a busy machine is too uneven for the kernel to measure it at start.
  clock="lpj=4000000 tsc_early_khz=2000000"
fi
code=0
# The machine ends with this script, however that ends.
setpriv --pdeathsig KILL qemu-system-x86_64 -M microvm -accel "$accel" -cpu max -smp 2 -m 2G -nodefaults -no-user-config -display none -no-reboot \
  -kernel "$kernel" -initrd "$scratch.cpio" -append "console=ttyS0 quiet loglevel=0 panic=-1 reboot=t $clock" -serial stdio \
  -fsdev local,id=usr,path=/usr,security_model=none,readonly=on -device virtio-9p-device,fsdev=usr,mount_tag=usr \
  -fsdev local,id=workspace,path="$workspace",security_model=none -device virtio-9p-device,fsdev=workspace,mount_tag=workspace \
  -device isa-debug-exit,iobase=0xf4,iosize=1 < /dev/null || code=$?
# The port makes 2 n + 1 of n; an even code is qemu's own.
if [ $((code % 2)) = 0 ]; then exit 125; fi
exit $((code / 2))
