# packages.sh make|install KIND FILES: makes packages in /scratch/packages, and
# installs them twice, telling how long each time took.
set -e
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive
dir=/scratch/packages
if [ "$1" = make ]; then
	perl /scratch/packages.pl "$2" "$3" "$dir"
	sync -f /scratch
	exit
fi
cat "$dir"/*.deb >/dev/null # neither time waits for the disk to read
cat "$dir/sum"
sync -f /usr
echo "packages begin"
begin=$EPOCHREALTIME
xargs dpkg --install <"$dir/first" >&2
sync -f /usr
middle=$EPOCHREALTIME
xargs dpkg --install <"$dir/again" >&2
sync -f /usr
end=$EPOCHREALTIME
rm -r "$dir" # of a container whose scratch space is its layer, it would count as stored
perl -e 'printf "first %.6f s\nagain %.6f s\n", $ARGV[1] - $ARGV[0], $ARGV[2] - $ARGV[1]' "$begin" "$middle" "$end"
