# What a Spark cluster of one job runs besides Spark: spark.py master | worker | job, with
# what it is to do as JSON in the second argument.
import json, os, socket, subprocess, sys, time, urllib.request

SCRATCH = "/scratch"
HOME = "/opt/spark"
SPARK_CLASS = HOME + "/bin/spark-class"
MASTER_PORT, MASTER_PAGE = 7077, 8080
MIB = 1 << 20


def fail(text):
    sys.exit("spark: " + text)


def environment(do):
    """The Java programs find each other by name, in a file of their own."""
    hosts = "-Djdk.net.hosts.file=" + SCRATCH + "/hosts"
    os.environ.update(
        SPARK_HOME=HOME, SPARK_LOCAL_HOSTNAME=do["name"], SPARK_LOCAL_IP=local(do), SPARK_LOCAL_DIRS=SCRATCH,
        SPARK_DAEMON_MEMORY="128m", SPARK_DAEMON_JAVA_OPTS=hosts, SPARK_LAUNCHER_OPTS="-Xmx64m", LC_ALL="C.UTF-8")
    return hosts


def local(do):
    """The address that this instance has itself. Behind translation that is not the one it is called at."""
    address = do["hosts"][do["name"]]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.bind((address, 0))
        except OSError:
            s.connect((address, 9))  # sends nothing
        return s.getsockname()[0]


def hosts(do):
    own = local(do)
    lines = ["127.0.0.1 localhost", own + " " + socket.gethostname()]
    for name, address in do["hosts"].items():
        lines.append((own if name == do["name"] else address) + " " + name)
    with open(SCRATCH + "/hosts", "w") as f:
        f.write("\n".join(lines) + "\n")


def wait(what, seconds, ready):
    """Waits until ready returns no reason to wait on."""
    end = time.monotonic() + seconds
    while True:
        why = ready()
        if not why:
            return
        if time.monotonic() > end:
            fail("%s after %d s: %s" % (what, seconds, why))
        time.sleep(0.1)


def accepts(address, port):
    def ask():
        try:
            socket.create_connection((address, port), 1).close()
        except OSError as e:
            return str(e)
    return ask


def master(do):
    hosts(do)
    environment(do)
    with open(SCRATCH + "/master.log", "w") as log:
        p = subprocess.Popen(
            [SPARK_CLASS, "org.apache.spark.deploy.master.Master", "--host", do["name"], "--port", str(MASTER_PORT), "--webui-port", str(MASTER_PAGE)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def ready():
        if p.poll() is not None:
            fail("the master ended with status %d: %s" % (p.returncode, tail("master.log")))
        return accepts(local(do), MASTER_PAGE)()
    wait("the master is not up", do["patience"], ready)


def tail(name):
    with open(SCRATCH + "/" + name, errors="replace") as f:
        return f.read()[-600:].strip()


def worker(do):
    hosts(do)
    environment(do)
    os.execv(SPARK_CLASS, [
        SPARK_CLASS, "org.apache.spark.deploy.worker.Worker", "--host", do["name"], "--port", "0", "--webui-port", "0", "--cores", str(do["cores"]),
        "--memory", "%dM" % (do["memory"] // MIB), "--work-dir", SCRATCH + "/work", "spark://main:%d" % MASTER_PORT])


def workers(do):
    with urllib.request.urlopen("http://%s:%d/json/" % (local(do), MASTER_PAGE), timeout=10) as page:
        return [w for w in json.load(page)["workers"] if w["state"] == "ALIVE"]


class Job:
    """A job has input(records), run(input) and check(records, result). What is measured is run."""

    def __init__(self, spark, do):
        self.spark, self.do, self.parts = spark, do, do["partitions"]
        self.seed = do["seed"]
        self.step = 2 * (self.seed * 7919 % (1 << 15)) + 1  # odd, so no multiple repeats modulo a power of 2

    def kept(self, frame):
        """The frame, on the members' disks."""
        from pyspark import StorageLevel
        frame = frame.persist(StorageLevel.DISK_ONLY)
        return frame, frame.count()


# How many words there are, how many of a text occur before it begins anew, and how many a line has.
WORDS, TEXT, LINE = 1000, 1 << 16, 16


class WordCount(Job):
    """Lines of words of which few are frequent. Any TEXT words in a row are the same ones, so how
    often each occurs is known."""

    def input(self, records):
        from pyspark.sql import functions as F
        place = "pmod((id * %d + i) * %d + %d, %d) / %d" % (LINE, self.step, self.seed, TEXT, TEXT)
        words = "transform(sequence(0, %d), i -> concat('word', cast(floor(%d * (%s) * (%s) * (%s)) as string)))" % (LINE - 1, WORDS, place, place, place)
        return self.kept(self.spark.range(0, records, 1, self.parts).select(F.expr("concat_ws(' ', %s)" % words).alias("line")))[0]

    def run(self, lines):
        from pyspark.sql import functions as F
        words = lines.select(F.explode(F.split("line", " ")).alias("word"))
        return {r["word"]: r["count"] for r in words.groupBy("word").count().collect()}

    def check(self, records, counts):
        times, rest = divmod(records * LINE, TEXT)
        expected = {}
        for at in range(TEXT):
            share = (at * self.step + self.seed) % TEXT / TEXT
            word = "word%d" % (WORDS * share * share * share)
            expected[word] = expected.get(word, 0) + times + (at < rest)
        expected = {word: n for word, n in expected.items() if n}
        if counts != expected:
            wrong = [w for w in expected if counts.get(w) != expected[w]] or [w for w in counts if w not in expected]
            fail("wordcount: %d of %d words are counted wrongly: %s %s times and not %s" % (len(wrong), len(expected), wrong[0], counts.get(wrong[0]), expected.get(wrong[0])))
        return "%d words, each as often as it was written" % len(expected)


class TeraSort(Job):
    """Records of 100 bytes, of which 10 are the key, sorted into partitions on the members' disks."""

    def input(self, records):
        key = "substr(hex(xxhash64(id, %dL)), 1, 10)" % self.seed
        frame = self.spark.range(0, records, 1, self.parts).selectExpr("rpad(%s, 10, '0') as key" % key, "concat(lpad(hex(id), 32, '0'), repeat('tare', 14), 'XY') as value")
        return self.kept(frame)[0]

    def run(self, frame):
        self.before = frame
        return self.kept(frame.orderBy("key"))

    def sums(self, frame):
        return frame.selectExpr("count(*)", "bit_xor(xxhash64(key, value))", "sum(xxhash64(value, key) % 1000003)").collect()[0]

    def check(self, records, result):
        from pyspark.sql import Window, functions as F
        after, count = result
        if count != records or self.sums(after) != self.sums(self.before):
            fail("terasort: the %d records that came out are not the %d that went in" % (count, records))
        rows = after.select("key", F.spark_partition_id().alias("part"), F.monotonically_increasing_id().alias("row"))
        before = F.lag("key").over(Window.partitionBy("part").orderBy("row"))
        parts = rows.withColumn("before", before).groupBy("part").agg(
            F.min("key"), F.max("key"), F.sum(F.when(F.col("key") < F.col("before"), 1).otherwise(0))).orderBy("part").collect()
        last = ""
        for part, least, most, wrong in parts:
            if wrong or least < last:
                fail("terasort: partition %d is not sorted: %d records are below the one before, its least key is %s after %s" % (part, wrong, least, last))
            last = most
        return "%d records in %d partitions, in order, and those that went in" % (count, len(parts))


PAGES_LINKS, ROUNDS, DAMPING = 10, 3, 0.85


class PageRank(Job):
    """Links of pages of which few are linked to often. Ranks are worked out once more by the driver."""

    def sizes(self, records):
        return max(1, records // PAGES_LINKS), 1 << 31

    def input(self, records):
        pages, modulus = self.sizes(records)
        share = "((id * %d + %d) %% %d) / %d" % (self.multiplier(), self.seed, modulus, modulus)
        frame = self.spark.range(0, pages * PAGES_LINKS, 1, self.parts).selectExpr("id %% %d as source" % pages, "%s as share" % share)
        return self.kept(frame.selectExpr("source", "cast(floor(%d * share * share * share) as bigint) as target" % pages))[0]

    def multiplier(self):
        return 1103515245 + 2 * self.step

    def run(self, links):
        from pyspark.sql import functions as F
        links = links.join(links.groupBy("source").agg(F.count("*").alias("out")), "source").repartition(self.parts, "source").persist()
        pages = links.select("source").distinct().persist()
        ranks = pages.select("source", F.lit(1.0).alias("rank"))
        for _ in range(ROUNDS):
            given = links.join(ranks, "source").groupBy(F.col("target").alias("source")).agg(F.sum(F.col("rank") / F.col("out")).alias("given"))
            ranks = pages.join(given, "source", "left").select("source", (1 - DAMPING + DAMPING * F.coalesce("given", F.lit(0.0))).alias("rank"))
        ranks = ranks.persist()
        return ranks.orderBy(F.desc("rank"), "source").limit(100).collect(), ranks.agg(F.sum("rank")).collect()[0][0]

    def check(self, records, result):
        import numpy
        pages, modulus = self.sizes(records)
        edge = numpy.arange(pages * PAGES_LINKS, dtype=numpy.int64)
        share = ((edge * self.multiplier() + self.seed) % modulus) / modulus
        source, target = edge % pages, numpy.floor(pages * share * share * share).astype(numpy.int64)
        ranks = numpy.ones(pages)
        for _ in range(ROUNDS):
            ranks = 1 - DAMPING + DAMPING * numpy.bincount(target, weights=ranks[source] / PAGES_LINKS, minlength=pages)
        best, total = result
        if abs(total / ranks.sum() - 1) > 1e-6:
            fail("pagerank: the ranks add up to %g and not to %g" % (total, ranks.sum()))
        for page, rank in best:
            if abs(rank / ranks[page] - 1) > 1e-6:
                fail("pagerank: page %d has the rank %g and not %g" % (page, rank, ranks[page]))
        return "the %d highest ranks and the sum of %d are those that the driver works out" % (len(best), pages)


CLUSTERS, DIMENSIONS, ITERATIONS = 8, 6, 8


class KMeans(Job):
    """Points about centres of a grid. The centres found are compared with the means of their points."""

    def shares(self, name):
        """The formulas of a point's coordinates."""
        for d in range(DIMENSIONS):
            noise = " + ".join("((%s * %d + %d) %% 1048576) / 1048576" % (name, 1664525 + 2 * self.step + 7919 * (3 * d + k), self.seed) for k in range(3))
            yield "((%s %% %d) * %d %% %d) * 4 + (%s)" % (name, CLUSTERS, 2 * d + 1, CLUSTERS, noise)

    def input(self, records):
        return self.kept(self.spark.range(0, records, 1, self.parts).selectExpr(*["%s as x%d" % (f, d) for d, f in enumerate(self.shares("id"))]))[0]

    def run(self, points):
        from pyspark.ml.clustering import KMeans as Clustering
        from pyspark.ml.feature import VectorAssembler
        vectors = VectorAssembler(inputCols=points.columns, outputCol="features").transform(points).select("features").persist()
        return Clustering(k=CLUSTERS, maxIter=ITERATIONS, tol=0.0, seed=self.seed).fit(vectors).clusterCenters()

    def check(self, records, centres):
        import numpy
        at = numpy.arange(records, dtype=numpy.int64)
        points = numpy.stack([eval(f, {"id": at}) for f in self.shares("id")], axis=1)
        nearest = numpy.argmin([((points - c) ** 2).sum(axis=1) for c in centres], axis=0)
        for k, centre in enumerate(centres):
            mine = points[nearest == k]
            if len(mine) == 0 or abs(mine.mean(axis=0) - centre).max() > 0.01:
                fail("kmeans: centre %d is %s, and the %d points nearest to it have another mean" % (k, centre, len(mine)))
        return "%d centres, each the mean of its points" % len(centres)


JOBS = {"wordcount": WordCount, "terasort": TeraSort, "pagerank": PageRank, "kmeans": KMeans}


def job(do):
    options = environment(do)

    def registered():
        there = workers(do)
        if len(there) < do["members"]:
            return "%d of %d workers are known to the master" % (len(there), do["members"])
    wait("the workers are not all there", do["patience"], registered)
    offered = min(w["memory"] for w in workers(do))  # MiB
    asked = do["executor"] // MIB or offered
    if asked > offered:
        fail("a worker cannot start its executor: it asks for %d MiB of memory, and the worker offers %d MiB" % (asked, offered))

    sys.path[:0] = [HOME + "/python/lib/" + name for name in os.listdir(HOME + "/python/lib") if name.endswith(".zip")]
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.master("spark://main:%d" % MASTER_PORT).appName(do["job"]).config(map={
        "spark.driver.host": "main", "spark.driver.bindAddress": "0.0.0.0", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "%dm" % (do["driver"] // MIB), "spark.executor.memory": "%dm" % asked,
        "spark.driver.extraJavaOptions": options, "spark.executor.extraJavaOptions": options,
        "spark.sql.shuffle.partitions": str(do["partitions"]), "spark.sql.adaptive.enabled": "false",
        "spark.scheduler.minRegisteredResourcesRatio": "0", "spark.task.maxFailures": "1", "spark.deploy.maxExecutorRetries": "1",
    }).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def started():
        n = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver is one
        if n < do["members"]:
            return "%d of %d executors, of %d MiB each, are at work; workers offer %d MiB" % (n, do["members"], asked, offered)
    wait("the executors are not all there", do["patience"], started)

    work = JOBS[do["job"]](spark, do)
    if do["warm"]:
        work.run(work.input(do["warm"]))
        spark.catalog.clearCache()
    given = work.input(do["records"])
    print("spark begins", flush=True)
    began = time.monotonic()
    result = work.run(given)
    seconds = time.monotonic() - began
    print("spark ends", flush=True)
    checked = work.check(do["records"], result)
    print(json.dumps({"job": do["job"], "seconds": seconds, "records": do["records"], "checked": checked}))
    spark.stop()


try:
    {"master": master, "worker": worker, "job": job}[sys.argv[1]](json.loads(sys.argv[2]))
except Exception as e:
    # Java's stack is longer than what is kept.
    fail("%s: %s" % (type(e).__name__, " ".join(str(e).split())[:400]))
