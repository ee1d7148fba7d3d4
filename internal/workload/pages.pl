# Starts a database, waits until it accepts at its socket, and starts the web server in front of it.
# Where one ends, so does the other: SOCKET DATABASE ARG... -- SERVER ARG...
use strict;
use Socket;
my ($path, @database) = @ARGV;
my @server;
unshift @server, pop @database while @database && $database[-1] ne '--';
pop @database;

my %running;

sub start {
    my $pid = fork;
    die "fork: $!\n" if !defined $pid;
    if (!$pid) {
        setpgrp;    # Apache ends the whole group that it is in
        exec @_ or die "$_[0]: $!\n";
    }
    $running{$pid} = $_[0];
}

# Ends all when one has ended.
sub ended {
    my ($pid, $status) = @_;
    my $name = delete $running{$pid} or return;
    print STDERR "$name ended by itself: exit status ", $status >> 8, ", signal ", $status & 127, "\n";
    kill 'TERM', keys %running;
    exit 1;
}

sub accepts {
    socket my $s, PF_UNIX, SOCK_STREAM, 0 or die "socket: $!\n";
    return connect $s, pack_sockaddr_un($path);
}

start(@database);
until (accepts()) {
    my $pid = waitpid -1, 1;    # WNOHANG
    ended($pid, $?) if $pid > 0;
    select undef, undef, undef, 0.05;
}
start(@server);
while ((my $pid = wait) > 0) {
    ended($pid, $?);
}
