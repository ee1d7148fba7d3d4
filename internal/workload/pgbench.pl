# Runs pgbench with a log of its transactions. Once it has warmed up it prints "pgbench begins", and at its
# end of those transactions that ended since how many took how long: WARM LOG PGBENCH ARG...
# Bins are a microsecond wide below 128 us, and at most 1/64 of their time above.
use strict;
$| = 1;
my ($warm, $log, @pgbench) = @ARGV;
unlink glob "$log.*";
open my $said, '-|', @pgbench, '--log', "--log-prefix=$log" or die "$pgbench[0]: $!\n";
while (my $line = <$said>) {
    print $line;
    next if $line !~ /^pgbench \(/;
    select undef, undef, undef, $warm;    # it says no more until its end
    print "pgbench begins\n";
}
close $said or exit($? >> 8 || 1);

# Each thread has a log. A line is of a transaction: its client, number, time, script, and when it ended.
my (@logs, $start);
for my $file (glob "$log.*") {
    open my $lines, '<', $file or die "$file: $!\n";
    while (<$lines>) {
        my ($us, $second, $part) = (split ' ')[2, 4, 5];
        next if $us !~ /^\d+$/;           # "failed"
        my $began = $second + ($part - $us) / 1e6;
        $start = $began if !defined $start || $began < $start;
        last;
    }
    seek $lines, 0, 0;
    push @logs, $lines;
}
die "$log: no transaction\n" if !defined $start;
my ($from, $end, $before, $counted, $sum, %took) = ($start + $warm, 0, 0, 0, 0);
for my $lines (@logs) {
    while (<$lines>) {
        my ($us, $second, $part) = (split ' ')[2, 4, 5];
        next if $us !~ /^\d+$/;
        my $at = $second + $part / 1e6;
        if ($at < $from) {
            $before++;
            next;
        }
        $end = $at if $at > $end;
        $counted++;
        $sum += $us;
        $took{$us}++;
    }
}
unlink glob "$log.*";
my @us = sort { $a <=> $b } keys %took;
die "$log: no transaction after $warm s\n" if !@us || $end <= $from;
printf "before %d\ncounted %d\nelapsed %.6f s\nmean %.3f us\n", $before, $counted, $end - $from, $sum / $counted;
print "shortest $us[0] us\nlongest $us[-1] us\n";
my ($low, $high, $count) = (0, 0, 0);
for my $us (@us, undef) {
    if (!defined $us || $us >= $high) {
        print "bin $low $high us $count\n" if $count;
        last if !defined $us;
        my $width = 1;
        $width *= 2 while $us >= 128 * $width;
        ($low, $count) = ($us - $us % $width, 0);
        $high = $low + $width;
    }
    $count += $took{$us};
}
