# compile.sh TARGET JOBS: compiles a part of Linux, and tells how long that took and what came out.
set -e
export LC_ALL=C KBUILD_BUILD_TIMESTAMP=@0 KBUILD_BUILD_USER=tare KBUILD_BUILD_HOST=tare
cd /scratch
case $1 in
sched) product=kernel/sched/built-in.a goal=kernel/sched/ ;;
lib) product=lib/built-in.a goal=lib/ ;;
*) product=$1 goal=$1 ;;
esac
begin=$EPOCHREALTIME
make -C /usr/src/linux O=/scratch/build -j "$2" $goal > log 2>&1 || {
    status=$?
    tail -n 20 log >&2
    grep -m 2 -i "error" log >&2 || : # the first, which make has buried
    exit $status
}
end=$EPOCHREALTIME
objects=0
while read -r tool file; do
    case $tool in CC | AS) ;; *) continue ;; esac
    [ -s "build/$file" ] || { echo "make succeeded, and $file is not there or empty" >&2; exit 1; }
    objects=$((objects + 1))
done < log
[ -s build/$product ] || { echo "make succeeded, and $product is not there or empty" >&2; exit 1; }
perl -e 'printf "time %.6f s\nobjects %d\n", $ARGV[1] - $ARGV[0], $ARGV[2]' "$begin" "$end" "$objects"
