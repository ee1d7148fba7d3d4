# rewrite.pl look|do FILES
use strict;
use warnings;

my ($what, $files) = @ARGV;
my (@all, $bytes);

sub find {
    my $dir = shift;
    opendir(my $d, $dir) or die "$dir: $!\n";
    for my $name (sort grep { $_ ne '.' && $_ ne '..' } readdir $d) {
        my @s = lstat "$dir/$name" or next;
        if (-d _) { find("$dir/$name") }
        elsif (-f _ && $s[7] > 0 && $s[7] <= 262144 && $s[3] == 1) { push @all, ["$dir/$name", $s[7]] }
    }
    closedir $d;
}

# The first bytes are written again as they are.
sub touch_up {
    my ($path, $size) = @_;
    open(my $f, $what eq 'look' ? '<:raw' : '+<:raw', $path) or die "$path: $!\n";
    defined(sysread $f, my $head, $what eq 'look' ? $size : 4096) or die "$path: $!\n";
    return if $what eq 'look';
    sysseek $f, 0, 0 or die "$path: $!\n";
    defined(syswrite $f, $head) or die "$path: $!\n";
    close $f or die "$path: $!\n";
}

find($_) for '/usr/lib', '/usr/share';
splice @all, $files if @all > $files;
for my $file (@all) {
    touch_up(@$file);
    $bytes += $file->[1];
}
print "files ${\ scalar @all}\nbytes $bytes\n" if $what eq 'look';
