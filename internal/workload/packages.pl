# packages.pl upgrade|install FILES DIR: makes packages of the image's files in DIR,
# and lists in DIR/first and DIR/again those to be installed first and then. They are
# not compressed, so that what is measured is not a decompressor.
use strict;
use warnings;
use File::Path qw(make_path remove_tree);

my ($kind, $files, $dir) = @ARGV;
my $info = '/var/lib/dpkg/info';
my ($count, $bytes) = (0, 0);
make_path($dir);

sub copy {
    my ($from, $to) = @_;
    open(my $in, '<:raw', $from) or die "$from: $!\n";
    open(my $out, '>:raw', $to) or die "$to: $!\n";
    local $/ = \1048576;
    while (my $block = <$in>) { print $out $block or die "$to: $!\n" }
    close $out or die "$to: $!\n";
}

# stage copies a file into a package's tree, with its mode.
sub stage {
    my ($from, $to) = @_;
    (my $parent = $to) =~ s{/[^/]*$}{};
    make_path($parent);
    my @s = lstat $from or return 0;
    if (-l _) { symlink(readlink $from, $to) or die "$to: $!\n"; return 0 }
    return 0 unless -f _;
    copy($from, $to);
    chmod $s[2] & 07777, $to or die "$to: $!\n";
    $bytes += $s[7];
    $count++;
    return 1;
}

# build makes a package of a tree.
sub build {
    my ($name, $control) = @_;
    make_path("$dir/tree/DEBIAN");
    open(my $f, '>', "$dir/tree/DEBIAN/control") or die "$!\n";
    print $f $control;
    close $f or die "$!\n";
    system('dpkg-deb', '--root-owner-group', '-Znone', '--build', "$dir/tree", "$dir/$name.deb") == 0 or die "dpkg-deb failed\n";
    remove_tree("$dir/tree");
}

sub list {
    my ($name, @debs) = @_;
    open(my $f, '>', "$dir/$name") or die "$!\n";
    print $f map { "$dir/$_.deb\n" } @debs;
    close $f or die "$!\n";
}

# upgrade repacks installed packages, whole ones until there are enough files, those of
# most files first: such as bring neither scripts nor configuration, so that files are all
# there is to it, and are not large, so that it is their number that counts.
sub upgrade {
    local $/ = '';
    open(my $status, '<', '/var/lib/dpkg/status') or die "$!\n";
    my @found;
    while (my $entry = <$status>) {
        next if $entry =~ /^(Essential|Protected): yes|^Conffiles:/m || $entry !~ /^Status: install ok installed$/m;
        my ($name) = $entry =~ /^Package: (\S+)/m;
        my ($arch) = $entry =~ /^Architecture: (\S+)/m;
        my ($at) = grep { -e "$info/$_.list" } $name, "$name:$arch" or next;
        next if grep { -e "$info/$at.$_" } qw(preinst postinst prerm postrm config templates);
        open(my $l, '<', "$info/$at.list") or die "$!\n";
        my @paths = do { local $/ = "\n"; <$l> };
        chomp @paths;
        my ($n, $size, @kept) = (0, 0);
        for my $path (@paths) {
            my @s = lstat $path or next;
            if (-f _) { $n++; $size += $s[7] }
            push @kept, $path if -f _ || -l _;
        }
        push @found, [$name, $entry, $n, @kept] if $n && $size <= 8e6;
    }
    my @debs;
    for my $package (sort { $b->[2] <=> $a->[2] || $a->[0] cmp $b->[0] } @found) {
        last if $count >= $files;
        my ($name, $entry, undef, @paths) = @$package;
        stage($_, "$dir/tree$_") for @paths;
        $entry =~ s/^Status: .*\n//m;
        $entry =~ s/\n+\z/\n/;
        build($name, $entry);
        push @debs, $name;
    }
    list('first', @debs);
    list('again', @debs);
}

# install makes two packages of as many files of the image each, by new names.
sub install {
    my @all;
    my $find;
    $find = sub {
        my $at = shift;
        opendir(my $d, $at) or die "$at: $!\n";
        for my $name (sort grep { $_ ne '.' && $_ ne '..' } readdir $d) {
            return if @all >= $files;
            my @s = lstat "$at/$name" or next;
            if (-d _) { $find->("$at/$name") }
            elsif (-f _ && $s[7] > 0 && $s[7] <= 262144) { push @all, "$at/$name" }
        }
        closedir $d;
    };
    $find->('/usr/lib');
    for my $n (1, 2) {
        ($count, $bytes) = (0, 0);
        my $k = 0;
        for my $path (@all) {
            stage($path, sprintf('%s/tree/usr/lib/tare-modules-%d/%02d/%d.ko', $dir, $n, $k / 100, $k));
            $k++;
        }
        build("tare-modules-$n", "Package: tare-modules-$n\nVersion: 1\nArchitecture: all\nMaintainer: tare <root\@localhost>\nDescription: as many files as a kernel has modules\n");
    }
    list('first', 'tare-modules-1');
    list('again', 'tare-modules-2');
}

$kind eq 'upgrade' ? upgrade() : install();
die "no package of the image can be repacked\n" unless $count;
open(my $sum, '>', "$dir/sum") or die "$!\n";
print $sum "files $count\nbytes $bytes\n";
close $sum or die "$!\n";
