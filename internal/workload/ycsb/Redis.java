import java.lang.reflect.Field;
import java.util.*;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import site.ycsb.*;
import site.ycsb.measurements.Measurements;

/**
 * Redis for YCSB, which stores records as its own binding does: a record is a hash, and a sorted set of
 * all keys serves scans. YCSB measures from its first operation; what it measured within the warm-up
 * (property "warm", ms) is thrown away, and the length of the rest is printed.
 */
public class Redis extends DB {
  private static final String KEYS = "_indices";
  private static final AtomicInteger CLIENTS = new AtomicInteger();
  private static volatile long began;
  private static volatile boolean said;
  private Jedis redis;

  @Override
  public void init() throws DBException {
    redis = new Jedis(getProperties().getProperty("redis.host"), Integer.parseInt(getProperties().getProperty("redis.port")));
    // YCSB ends with status 0 whatever became of it, so that a load that failed shows only here.
    long there = Long.parseLong(getProperties().getProperty("there"));
    try {
      if (redis.dbSize() < there) {
        throw new DBException(redis.dbSize() + " of " + there + " records are there");
      }
    } catch (JedisException e) {
      throw new DBException(e);
    }
    if (CLIENTS.getAndIncrement() == 0) {
      long warm = Long.parseLong(getProperties().getProperty("warm"));
      Thread begin = new Thread(() -> begin(warm));
      begin.setDaemon(true);
      begin.start();
    }
  }

  private static void begin(long warm) {
    try {
      Thread.sleep(warm);
      Field measured = Measurements.class.getDeclaredField("opToMesurementMap");
      measured.setAccessible(true);
      ((Map<?, ?>) measured.get(Measurements.getMeasurements())).clear();
    } catch (InterruptedException | ReflectiveOperationException e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
    began = System.nanoTime();
    System.out.println("ycsb begins");
  }

  @Override
  public void cleanup() {
    redis.close();
    if (CLIENTS.decrementAndGet() == 0 && began != 0) {
      System.out.println("measured us: " + (System.nanoTime() - began) / 1000);
    }
  }

  private static double place(String key) {
    return key.hashCode();
  }

  // An answer that says an error is a failed operation; a connection that is lost ends YCSB.
  private static Status ask(Supplier<Status> operation) {
    try {
      return operation.get();
    } catch (JedisDataException e) {
      if (!said) { // once is enough
        said = true;
        System.err.println(e.getMessage());
      }
      return Status.ERROR;
    }
  }

  private Status load(String key, Set<String> fields, Map<String, ByteIterator> record) {
    if (fields == null) {
      StringByteIterator.putAllAsByteIterators(record, redis.hgetAll(key));
    } else {
      String[] names = fields.toArray(new String[0]);
      Iterator<String> values = redis.hmget(key, names).iterator();
      for (String name : names) {
        record.put(name, new StringByteIterator(values.next()));
      }
    }
    return record.isEmpty() ? Status.NOT_FOUND : Status.OK;
  }

  private Status store(String key, Map<String, ByteIterator> values) {
    return redis.hmset(key, StringByteIterator.getStringMap(values)).equals("OK") ? Status.OK : Status.ERROR;
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> record) {
    return ask(() -> load(key, fields, record));
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return ask(() -> {
      Status stored = store(key, values);
      redis.zadd(KEYS, place(key), key);
      return stored;
    });
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return ask(() -> store(key, values));
  }

  @Override
  public Status delete(String table, String key) {
    return ask(() -> redis.del(key) == 1 && redis.zrem(KEYS, key) == 1 ? Status.OK : Status.NOT_FOUND);
  }

  @Override
  public Status scan(String table, String start, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> records) {
    return ask(() -> {
      for (String key : redis.zrangeByScore(KEYS, place(start), Double.POSITIVE_INFINITY, 0, count)) {
        HashMap<String, ByteIterator> record = new HashMap<>();
        Status loaded = load(key, fields, record);
        if (loaded != Status.OK) {
          return loaded;
        }
        records.add(record);
      }
      return Status.OK;
    });
  }
}
