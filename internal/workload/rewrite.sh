# rewrite.sh FILES: rewrites files of the image twice and tells how long each
# time took. The first time copies what the image's store shares, the second does not.
set -e
export LC_ALL=C
cd /
perl /scratch/rewrite.pl look "$1" # reads all of it, so that neither time waits for the disk to read
sync -f /usr
echo "rewrite begins"
begin=$EPOCHREALTIME
perl /scratch/rewrite.pl do "$1"
sync -f /usr
middle=$EPOCHREALTIME
perl /scratch/rewrite.pl do "$1"
sync -f /usr
end=$EPOCHREALTIME
perl -e 'printf "first %.6f s\nagain %.6f s\n", $ARGV[1] - $ARGV[0], $ARGV[2] - $ARGV[1]' "$begin" "$middle" "$end"
