# install.sh FILE SHA256 [copy]: says "there", or "missing"; with copy, takes the file from standard input.
set -eu
umask 077
if [ "$(sha256sum <"$1" 2>/dev/null | cut -d ' ' -f 1)" = "$2" ]; then
	echo there
	exit
fi
if [ $# -lt 3 ]; then
	echo missing
	exit
fi
mkdir -p "$(dirname "$1")"
part=$(mktemp "$1.XXXXXX")
trap 'rm -f "$part"' EXIT
cat >"$part"
if [ "$(sha256sum <"$part" | cut -d ' ' -f 1)" != "$2" ]; then
	echo "the program arrived damaged: copy it again" >&2
	exit 1
fi
chmod 700 "$part"
mv "$part" "$1"
