# rewrite.pl look|do KIND FILES ROUND
use strict;
use warnings;

my ($what, $kind, $files, $round) = @ARGV;
my (@all, $bytes);

sub find {
    my $dir = shift;
    opendir(my $d, $dir) or die "$dir: $!\n";
    for my $name (sort grep { $_ ne '.' && $_ ne '..' && $_ ne 'tare-new' } readdir $d) {
        my @s = lstat "$dir/$name" or next;
        if (-d _) { find("$dir/$name") }
        elsif (-f _ && $s[7] > 0 && $s[3] == 1) { push @all, ["$dir/$name", $s[7], $s[2] & 07777] }
    }
    closedir $d;
}

sub slurp {
    my $path = shift;
    open(my $f, '<:raw', $path) or die "$path: $!\n";
    local $/;
    my $text = <$f>;
    return $text;
}

sub store {
    my ($path, $text, $mode) = @_;
    open(my $f, '>:raw', $path) or die "$path: $!\n";
    print $f $text or die "$path: $!\n";
    close $f or die "$path: $!\n";
    chmod $mode, $path or die "$path: $!\n";
}

# The first bytes are written again as they are.
sub touch_up {
    my $path = shift;
    open(my $f, '+<:raw', $path) or die "$path: $!\n";
    defined(sysread $f, my $head, 4096) or die "$path: $!\n";
    sysseek $f, 0, 0 or die "$path: $!\n";
    defined(syswrite $f, $head) or die "$path: $!\n";
    close $f or die "$path: $!\n";
}

find($_) for '/usr/lib', '/usr/share';
if ($kind eq 'large') {
    @all = (sort { $b->[1] <=> $a->[1] || $a->[0] cmp $b->[0] } @all)[0];
} else {
    @all = grep { $_->[1] <= 262144 } @all;
    splice @all, $files if @all > $files;
}
my $n = 0;
for my $file (@all) {
    my ($path, $size, $mode) = @$file;
    $bytes += $size;
    if ($what eq 'look') { slurp($path) }
    elsif ($kind eq 'upgrade') {
        store("$path.dpkg-new", slurp($path), $mode);
        rename "$path.dpkg-new", $path or die "$path: $!\n";
    }
    elsif ($kind eq 'install') {
        my $dir = "/usr/lib/tare-new";
        mkdir $dir;
        mkdir "$dir/$round";
        store("$dir/$round/$n", slurp($path), $mode);
    }
    else { touch_up($path) }
    $n++;
}
print "files $n\nbytes $bytes\n" if $what eq 'look';
