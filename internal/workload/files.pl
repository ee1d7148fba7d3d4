# Runs fs_mark, dbench or postmark to warm up, prints "files begin", and runs it for the measured
# time: WARM MEASURE PROGRAM ARG...
use strict;
use POSIX ();    # perl-base has it, and not Time::HiRes
$| = 1;
my ($warm, $measure, @program) = @ARGV;

# Seconds, in steps of a hundredth.
sub now { return (POSIX::times())[0] / POSIX::sysconf(&POSIX::_SC_CLK_TCK) }

sub begin { print "files begin\n" }

sub ended {
    my ($said) = @_;
    close $said and return;
    exit($? >> 8 || 128 + ($? & 127));
}

# fs_mark makes its files, and deletes them, in each run. A run is a line of its table.
sub fs_mark {
    my ($start, $until, $begun) = (now(), $warm, 0);
    while (1) {
        if (now() - $start >= $until) {
            last if $begun;
            begin();
            ($start, $until, $begun) = (now(), $measure, 1);
        }
        open my $said, '-|', @_ or die "$_[0]: $!\n";
        while (my $line = <$said>) { print $line if $line =~ /^FSUse%|^ *\d|^[^#\s]/ }
        ended($said);
    }
}

# dbench warms up within its run: its figures begin so many seconds after it released its clients.
sub dbench {
    open my $said, '-|', @_ or die "$_[0]: $!\n";
    local $SIG{ALRM} = \&begin;
    while (my $line = <$said>) {
        print $line;
        next if $line ne "releasing clients\n";
        $warm ? alarm $warm : begin();
    }
    ended($said);
}

# postmark counts transactions, and whole seconds: how many transactions to ask for is learned while
# it warms up. It goes on, and ends well, where a file cannot be written.
sub transactions {
    my ($n, $show, @program) = @_;
    my $conf = pop @program;
    open my $to, '>', "$conf.run" or die "$conf.run: $!\n";
    open my $from, '<', $conf or die "$conf: $!\n";
    print {$to} <$from>, "set transactions $n\nset report terse\nrun\nquit\n";
    close $to or die "$conf.run: $!\n";
    open my $said, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', @program, "$conf.run" or die "sh: $!\n";
    my ($text, $first, $last) = '';
    while (sysread $said, my $more, 65536) {
        $text .= $more;
        die "postmark: $1\n" if $text =~ /(Error: .*|out of files!)/;
        if (!defined $first && $text =~ /Performing transactions/) {
            begin() if $show;
            $first = now();
        }
        $last = now() if !defined $last && $text =~ /Deleting files/;
    }
    ended($said);
    die "postmark: it did not perform its transactions: $text\n" if !defined $last;
    my $took = $last > $first ? $last - $first : 0.01;
    print "transactions $n $took\n$text" if $show;
    return $took;
}

sub postmark {
    my ($n, $took, $left) = (1000, 0, $warm > 0.3 ? $warm : 0.3);
    while (1) {
        $took = transactions($n, 0, @_);
        $left -= $took;
        last if $left <= 0 && $took >= 0.2;
        my $next = $n * ($left > 0.3 ? $left : 0.3) / $took;
        $n = int($next > 8 * $n ? 8 * $n : $next < 100 ? 100 : $next);
    }
    transactions(int($n / $took * $measure) + 1, 1, @_);
}

my %ways = (fs_mark => \&fs_mark, dbench => \&dbench, postmark => \&postmark);
my $way = $ways{$program[0]} or die "$program[0]: not a program of this script\n";
$way->(@program);
