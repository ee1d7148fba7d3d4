package workload

import (
	"slices"
	"strconv"
	"time"

	"tare/internal/bench"
)

// oltp is a MariaDB server under sysbench's transactions from a peer, in a closed loop: felter2014
// section 3.8, with MariaDB for MySQL.
type oltp struct{}

const oltpPort = 3306

const oltpData = bench.ScratchDir + "/db"

func (oltp) Name() string { return "oltp" }

func (oltp) Summary() string {
	return "a MariaDB server in the instance, under the transactions of sysbench from a machine beside it"
}

func (oltp) Resource() string { return "disk" }

func (oltp) Parts() []string { return []string{servicePart} }

// Family implements [bench.Familied].
func (oltp) Family() string { return "db" }

func (oltp) Programs() []string { return []string{"mariadbd", "mariadb-install-db", "sysbench"} }

func (oltp) Params() []bench.Param {
	return []bench.Param{
		{Name: "mix", Kind: bench.KindWord, Default: "oltp_read_write", Words: []string{"oltp_read_write", "oltp_read_only", "oltp_point_select"},
			Doc: "what a transaction does, by sysbench's name"},
		{Name: "threads", Kind: bench.KindInt, Default: "4", Min: 1, Load: true, Doc: "clients, each with one transaction at a time"},
		{Name: "rows", Kind: bench.KindInt, Default: "10000", Min: 1, Doc: "rows of the table, of about 250 bytes each with their index"},
		{Name: "buffer", Kind: bench.KindSize, Default: "64MiB", Min: 8 << 20, Doc: "memory in which the server keeps pages (innodb_buffer_pool_size)"},
		oltpFlush,
	}
}

// oltpFlush is MariaDB's parameter of how lasting a commit is.
var oltpFlush = bench.Param{Name: "flush", Kind: bench.KindWord, Default: "commit", Words: []string{"commit", "second"},
	Doc: "when the log is on the disk: at each commit, or once a second (innodb_flush_log_at_trx_commit 1 or 2)"}

func (oltp) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{
		{Name: "transactions", Unit: "transactions/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true, Doc: "finished per second, by all clients"},
		{Name: "mean_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "mean time of a transaction"},
		{Name: "p95_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Merge, Doc: "95th percentile of the time of a transaction",
			Histogram: "latency", Quantile: 0.95},
		{Name: "p99_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Merge, Doc: "99th percentile of the time of a transaction",
			Histogram: "latency", Quantile: 0.99},
	}, nil
}

// oltpInstall is what making the server's own tables takes on a slow, emulated machine.
const oltpInstall = 2 * time.Minute

func (w oltp) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	addr, err := served(w, s)
	if err != nil {
		return bench.Part{}, err
	}
	limit, err := timeout(s.Timing, oltpInstall)
	if err != nil {
		return bench.Part{}, err
	}
	switch part {
	case bench.SubjectPart:
		argv := append(mariadb(p), "--bind-address=0.0.0.0", "--port="+strconv.Itoa(oltpPort), "--socket="+oltpData+"/socket")
		return bench.Part{
			Prepare: []bench.Command{mariadbInstall(limit)},
			Main:    bench.Command{Argv: argv, Timeout: serviceLimit},
			Service: true,
			Listen:  oltpPort,
			Ready:   serverReady,
		}, nil
	case servicePart:
		measure, err := measured(s.Timing)
		if err != nil {
			return bench.Part{}, err
		}
		limit, err := timeout(s.Timing, max(s.Timing.Warmup+measure, oltpInstall))
		if err != nil {
			return bench.Part{}, err
		}
		sysbench := func(verb string, more ...string) bench.Command {
			argv := []string{"sysbench", p["mix"], "--db-driver=mysql", "--mysql-host=" + addr.String(),
				"--mysql-port=" + strconv.Itoa(oltpPort), "--mysql-user=root", "--mysql-db=test", "--tables=1", "--table-size=" + p["rows"],
				"--threads=" + p["threads"]}
			return bench.Command{Argv: slices.Concat(argv, more, []string{verb}), Timeout: limit}
		}
		steps := bench.Part{Prepare: []bench.Command{sysbench("prepare")}, Main: sysbench("run", sysbenchTime(s.Timing)...), Begin: "Threads started!"}
		if s.Timing.Warmup > 0 {
			steps.Begin = sysbenchCheckpoint
		}
		return steps, nil
	}
	return bench.Part{}, unknownPart(w, part)
}

// mariadbInstall makes the server's own tables.
func mariadbInstall(limit time.Duration) bench.Command {
	return bench.Command{Argv: []string{"mariadb-install-db", "--no-defaults", "--force", "--skip-name-resolve", "--user=root",
		"--auth-root-authentication-method=normal", "--datadir=" + oltpData, "--innodb-log-file-size=32M"}, Timeout: limit}
}

// mariadb is the server's command line, but for where it listens: it checks no passwords and writes no binary log.
func mariadb(p bench.Params) []string {
	return []string{"mariadbd", "--no-defaults", "--user=root", "--datadir=" + oltpData, "--pid-file=" + oltpData + "/pid",
		"--skip-grant-tables", "--skip-name-resolve", "--skip-log-bin", "--max-connections=4096", "--innodb-log-file-size=32M",
		"--innodb-buffer-pool-size=" + p["buffer"], "--innodb-flush-log-at-trx-commit=" + oltpCommit[p["flush"]]}
}

// oltpCommit are the server's words for how lasting a commit is.
var oltpCommit = map[string]string{"commit": "1", "second": "2"}

// mysql is [oltp] with MySQL for MariaDB: felter2014 section 3.8 has MySQL 5.5.
type mysql struct{ oltp }

const mysqlInit = bench.ScratchDir + "/init.sql"

func (mysql) Name() string { return "mysql" }

func (mysql) Summary() string {
	return "a MySQL server in the instance, under the transactions of sysbench from a machine beside it"
}

// Family implements [bench.Familied].
func (mysql) Family() string { return "mysql" }

func (mysql) Programs() []string { return []string{"mysqld", "sysbench"} }

func (w mysql) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return w.oltp.Steps(part, p, s)
	}
	if _, err := served(w, s); err != nil {
		return bench.Part{}, err
	}
	limit, err := timeout(s.Timing, oltpInstall)
	if err != nil {
		return bench.Part{}, err
	}
	server := []string{"/opt/mysql/bin/mysqld", "--no-defaults", "--user=root", "--basedir=/opt/mysql", "--datadir=" + oltpData, "--innodb-log-file-size=32M"}
	return bench.Part{
		Files:   []bench.File{{Path: mysqlInit, Mode: 0o644, Data: []byte("CREATE DATABASE IF NOT EXISTS test;\n")}},
		Prepare: []bench.Command{{Argv: append(slices.Clone(server), "--initialize-insecure"), Timeout: limit}},
		// As MariaDB is run: direct I/O, no passwords, no binary log, which is off unless asked for.
		Main: bench.Command{Argv: append(server, "--pid-file="+oltpData+"/pid", "--skip-grant-tables", "--skip-name-resolve", "--max-connections=4096",
			"--innodb-flush-method=O_DIRECT", "--innodb-buffer-pool-size="+p["buffer"], "--innodb-flush-log-at-trx-commit="+oltpCommit[p["flush"]],
			"--init-file="+mysqlInit, "--bind-address=0.0.0.0", "--port="+strconv.Itoa(oltpPort), "--socket="+oltpData+"/socket"), Timeout: serviceLimit},
		Service: true, Listen: oltpPort, Ready: serverReady,
	}, nil
}

// Histograms reads the times of single transactions, of all clients.
func (oltp) Histograms(_ bench.Params, _ bench.Setting, out bench.Output) ([]bench.Histogram, error) {
	return sysbenchCPU{}.Histograms(nil, bench.Setting{}, out)
}

func (oltp) Parse(_ bench.Params, s bench.Setting, out bench.Output) ([]bench.Value, error) {
	values, err := sysbenchRate("transactions", out)
	if err != nil {
		return nil, err
	}
	return values, sysbenchWarmed(s.Timing, out.Stdout)
}
