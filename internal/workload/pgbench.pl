# Runs pgbench with a log of its transactions, and prints how many took how long: LOG PGBENCH ARG...
# Bins are a microsecond wide below 128 us, and at most 1/64 of their time above.
use strict;
my ($log, @pgbench) = @ARGV;
unlink glob "$log.*";
my $status = system @pgbench, '--log', "--log-prefix=$log";
die "$pgbench[0]: $!\n" if $status == -1;
exit($status >> 8 || 1) if $status;
my %took;
for my $file (glob "$log.*") {    # one of each thread
    open my $lines, '<', $file or die "$file: $!\n";
    while (<$lines>) {
        $took{(split ' ', $_, 4)[2]}++;
    }
}
unlink glob "$log.*";
my @us = sort { $a <=> $b } grep { /^\d+$/ } keys %took;    # and not "failed"
die "$log: no transaction\n" if !@us;
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
