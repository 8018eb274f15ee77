# reboot.sh BOOT ENTRY: boots the machine into an entry of GRUB's menu, once, unless it has left the boot with this id.
set -eu
[ "$(cat /proc/sys/kernel/random/boot_id)" = "$1" ] || exit 0
grub-reboot "$2"
systemctl reboot
