# Fills the keys, asks for as long as the warm-up lasts to learn how many requests a second takes,
# and then asks for so many as the measured time takes: WARM MEASURE KEYS PROGRAM ARG...
use strict;
use POSIX ();    # perl-base has it, and not Time::HiRes
$| = 1;
my ($warm, $measure, $keys, @benchmark) = @ARGV;

# Seconds, in steps of a hundredth.
sub now { return (POSIX::times())[0] / POSIX::sysconf(&POSIX::_SC_CLK_TCK) }

sub ask {
    my ($requests, @more) = @_;
    my $began = now();
    open my $said, '-|', @benchmark, @more, '-n', int $requests or die "$benchmark[0]: $!\n";
    my @text = <$said>;
    close $said or die "$benchmark[0] failed: @text\n";
    my $took = now() - $began;
    return $took > 0 ? $took : 0.01;
}

ask(10 * $keys + 1000, '-t', 'set');
my ($requests, $took, $left) = (1000, 0, $warm > 0.3 ? $warm : 0.3);
while (1) {
    $took = ask($requests);
    $left -= $took;
    last if $left <= 0 && $took >= 0.2;
    my $next = $requests * ($left > 0.3 ? $left : 0.3) / $took;
    $requests = $next > 8 * $requests ? 8 * $requests : $next < 100 ? 100 : $next;
}
print "redis begins\n";
exec @benchmark, '-n', int($requests / $took * $measure) + 1 or die "$benchmark[0]: $!\n";
