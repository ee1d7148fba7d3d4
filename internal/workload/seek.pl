# Runs httperf at the rate at which a server answers most.
#
#	perl seek.pl FILE SECONDS look TRIES TOP httperf ...
#		asks at so many rates for so many seconds each, every one a quarter above the one before and the
#		last TOP requests per second, until twice in a row a tenth less was answered than at the best, or
#		four tenths were not, and writes the best rate to FILE
#	perl seek.pl FILE SECONDS ask httperf ...
#		asks at the rate in FILE
# tso2014 raises its rate until what is served falls off slightly.
use strict;
use warnings;

my ($file, $seconds, $what, @httperf) = @ARGV;

sub asking {
	my ($rate) = @_;
	my $connections = int($rate * $seconds + 0.5) || 1;
	return (@httperf, '--num-conns', $connections, '--num-calls', 1, '--rate', $rate);
}

if ($what eq 'ask') {
	open(my $f, '<', $file) or die "$file: $!\n";
	my $rate = <$f>;
	exec asking($rate) or die "httperf: $!\n";
}

my ($tries, $top) = splice(@httperf, 0, 2);
my ($best, $at, $fell) = (0, 0, 0);
for my $try (1 .. $tries) {
	my $rate = $top / 1.25 ** ($tries - $try);
	open(my $out, '-|', asking($rate)) or die "httperf: $!\n";
	my ($good, $took) = (0, 0);
	while (<$out>) {
		$took = $1 if /^Total: connections \d+ requests \d+ replies \d+ test-duration (\S+) s$/;
		$good = $1 if /^Reply status: 1xx=\d+ 2xx=(\d+) /;
	}
	close($out);
	my $got = $took > 0 ? $good / ($took > $seconds ? $took : $seconds) : 0;
	($best, $at) = ($got, $rate) if $got > $best;
	$fell = $got < 0.9 * $best || $got < 0.6 * $rate ? $fell + 1 : 0;
	last if $fell == 2; # once may be other work on the host
}
die "no request was answered at any rate\n" unless $at;
open(my $f, '>', $file) or die "$file: $!\n";
printf $f "%.2f", $at;
close($f) or die "$file: $!\n";
