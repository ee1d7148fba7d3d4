import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Warehouses.java WAREHOUSES WARM MEASURE STEP: the five transactions of a wholesale supplier, as
 * TPC-C clause 2 describes them, on objects in the heap; a thread for each warehouse. WARM, MEASURE
 * and STEP are in milliseconds. It prints when the measured window begins and ends, then what was
 * done in it, then whether the books balance.
 */
public final class Warehouses {
    static final int DISTRICTS = 10, CUSTOMERS = 300, ITEMS = 20_000, KEPT = 300;
    /** Of 23 transactions: new orders, payments, and one each of the other three. */
    static final int NEW_ORDERS = 10, PAYMENTS = 10;
    static final String[] KINDS = {"new_order", "payment", "order_status", "delivery", "stock_level"};

    /** A random sequence of its own for each thread (SplitMix64), so that the data are the same each time. */
    static final class Dice {
        private long state;

        Dice(long seed) {
            state = seed;
        }

        int below(int n) {
            long z = state += 0x9E3779B97F4A7C15L;
            z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
            z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
            return (int) (((z ^ (z >>> 31)) >>> 33) % n);
        }

        BigDecimal money(int mostCents) {
            return BigDecimal.valueOf(1 + below(mostCents), 2);
        }
    }

    record Item(int id, String name, BigDecimal price) {}

    static final class Stock {
        int quantity, ordered;
        BigDecimal sold = BigDecimal.ZERO;
    }

    record Line(Item item, int quantity, BigDecimal amount) {}

    static final class Order {
        final int id;
        final Customer customer;
        final Line[] lines;
        final BigDecimal total;
        boolean delivered;

        Order(int id, Customer customer, Line[] lines, BigDecimal total) {
            this.id = id;
            this.customer = customer;
            this.lines = lines;
            this.total = total;
        }
    }

    static final class Customer {
        final String name;
        final BigDecimal discount;
        BigDecimal balance = BigDecimal.ZERO, paid = BigDecimal.ZERO;
        Order last;

        Customer(String name, BigDecimal discount) {
            this.name = name;
            this.discount = discount;
        }
    }

    static final class District {
        final Customer[] customers = new Customer[CUSTOMERS];
        final ArrayDeque<Order> undelivered = new ArrayDeque<>();
        final ArrayDeque<Order> delivered = new ArrayDeque<>();
        final Map<Integer, Order> orders = new HashMap<>();
        final BigDecimal tax;
        BigDecimal paid = BigDecimal.ZERO;
        int next = 1;

        District(BigDecimal tax) {
            this.tax = tax;
        }
    }

    static final class Warehouse {
        final District[] districts = new District[DISTRICTS];
        final Stock[] stock = new Stock[ITEMS];
        BigDecimal paid = BigDecimal.ZERO;
        long lines; // of all orders
    }

    /** Counts latencies in bins: exact below 256 ns, then 128 for each power of two. */
    static final class Latencies {
        final long[] bins = new long[128 * 32];
        long count, sum, least = Long.MAX_VALUE, most;

        void add(long ns) {
            bins[bin(ns)]++;
            count++;
            sum += ns;
            least = Math.min(least, ns);
            most = Math.max(most, ns);
        }

        static int bin(long ns) {
            int shift = Math.max(0, 56 - Long.numberOfLeadingZeros(ns | 1));
            return (int) Math.min(128L * 32 - 1, 128L * shift + (ns >>> shift));
        }

        static long low(int bin) {
            int shift = Math.max(0, bin / 128 - 1);
            return (long) (bin - 128 * shift) << shift;
        }
    }

    static Item[] items;
    static Warehouse[] warehouses;
    static AtomicLongArray done; // by thread, 16 words apart
    static volatile boolean measuring, ended;

    static void fill(int n) {
        Dice dice = new Dice(1);
        items = new Item[ITEMS];
        for (int i = 0; i < ITEMS; i++) items[i] = new Item(i, "item " + i + " of the catalogue", dice.money(10_000));
        warehouses = new Warehouse[n];
        for (int w = 0; w < n; w++) {
            Warehouse house = warehouses[w] = new Warehouse();
            for (int i = 0; i < ITEMS; i++) {
                house.stock[i] = new Stock();
                house.stock[i].quantity = 10 + dice.below(91);
            }
            for (int d = 0; d < DISTRICTS; d++) {
                District district = house.districts[d] = new District(BigDecimal.valueOf(dice.below(2001), 4));
                for (int c = 0; c < CUSTOMERS; c++)
                    district.customers[c] = new Customer("customer " + w + "/" + d + "/" + c, BigDecimal.valueOf(dice.below(5001), 4));
            }
        }
    }

    /** One thread's work on its warehouse, one transaction after the other without think time. */
    static final class Terminal extends Thread {
        final int number;
        final Dice dice;
        final Latencies latencies = new Latencies();
        final long[] kinds = new long[KINDS.length];
        Throwable failure;
        long screen; // keeps what is written for the customer alive

        Terminal(int number) {
            this.number = number;
            dice = new Dice(1000 + number);
        }

        @Override
        public void run() {
            try {
                Warehouse home = warehouses[number];
                long n = 0, began = System.nanoTime();
                boolean within = false;
                while (!ended) {
                    int kind = transaction(home);
                    long now = System.nanoTime();
                    if (within) {
                        latencies.add(now - began);
                        kinds[kind]++;
                        done.lazySet(16 * number, ++n);
                    }
                    within = measuring;
                    began = now;
                }
            } catch (Throwable t) {
                failure = t;
            }
        }

        int transaction(Warehouse home) {
            int kind = choose(dice.below(NEW_ORDERS + PAYMENTS + 3));
            District district = home.districts[dice.below(DISTRICTS)];
            Customer customer = district.customers[dice.below(CUSTOMERS)];
            switch (kind) {
                case 0 -> newOrder(home, district, customer);
                case 1 -> payment(home, district, customer);
                case 2 -> orderStatus(customer);
                case 3 -> delivery(home);
                default -> stockLevel(home, district);
            }
            return kind;
        }

        static int choose(int of23) {
            if (of23 < NEW_ORDERS) return 0;
            return of23 < NEW_ORDERS + PAYMENTS ? 1 : of23 - NEW_ORDERS - PAYMENTS + 2;
        }

        /** A line in a hundred is supplied by another warehouse, whose stock another thread uses, too. */
        void newOrder(Warehouse home, District district, Customer customer) {
            Line[] lines = new Line[5 + dice.below(11)];
            BigDecimal total = BigDecimal.ZERO;
            for (int i = 0; i < lines.length; i++) {
                Item item = items[dice.below(ITEMS)];
                int quantity = 1 + dice.below(10);
                Warehouse from = dice.below(100) == 0 ? warehouses[dice.below(warehouses.length)] : home;
                BigDecimal amount = item.price().multiply(BigDecimal.valueOf(quantity));
                Stock stock = from.stock[item.id()];
                synchronized (stock) {
                    stock.quantity -= quantity;
                    if (stock.quantity < 10) stock.quantity += 91;
                    stock.ordered++;
                    stock.sold = stock.sold.add(amount);
                }
                lines[i] = new Line(item, quantity, amount);
                total = total.add(amount);
            }
            home.lines += lines.length;
            total = total.multiply(BigDecimal.ONE.subtract(customer.discount)).multiply(BigDecimal.ONE.add(district.tax))
                    .setScale(2, RoundingMode.HALF_EVEN);
            Order order = new Order(district.next++, customer, lines, total);
            district.orders.put(order.id, order);
            district.undelivered.add(order);
            customer.last = order;
            write(order);
        }

        void payment(Warehouse home, District district, Customer customer) {
            BigDecimal amount = dice.money(500_000);
            home.paid = home.paid.add(amount);
            district.paid = district.paid.add(amount);
            customer.paid = customer.paid.add(amount);
            customer.balance = customer.balance.subtract(amount);
            screen += ("paid " + amount + " by " + customer.name + ", balance " + customer.balance).length();
        }

        void orderStatus(Customer customer) {
            if (customer.last != null) write(customer.last);
        }

        /** The oldest order of each district; orders that were delivered long ago are forgotten. */
        void delivery(Warehouse home) {
            for (District district : home.districts) {
                Order order = district.undelivered.poll();
                if (order == null) continue;
                order.delivered = true;
                order.customer.balance = order.customer.balance.add(order.total);
                district.delivered.add(order);
                if (district.delivered.size() > KEPT) district.orders.remove(district.delivered.poll().id);
            }
        }

        /** How many items of the last twenty orders are short. */
        void stockLevel(Warehouse home, District district) {
            int limit = 10 + dice.below(11), few = 0;
            for (int id = Math.max(1, district.next - 20); id < district.next; id++) {
                Order order = district.orders.get(id);
                if (order == null) continue;
                for (Line line : order.lines) if (home.stock[line.item().id()].quantity < limit) few++;
            }
            screen += few;
        }

        /** The order as a customer reads it. */
        void write(Order order) {
            StringBuilder text = new StringBuilder(256).append("order ").append(order.id).append(" of ").append(order.customer.name).append('\n');
            for (Line line : order.lines)
                text.append(line.item().name()).append(' ').append(line.quantity()).append(' ').append(line.amount()).append('\n');
            screen += text.append("total ").append(order.total).toString().hashCode();
        }
    }

    /** What was paid and ordered must agree in all places where it is kept. */
    static String unbalanced() {
        long lines = 0, ordered = 0;
        for (Warehouse house : warehouses) {
            BigDecimal districts = BigDecimal.ZERO;
            for (District district : house.districts) {
                BigDecimal customers = BigDecimal.ZERO;
                for (Customer c : district.customers) customers = customers.add(c.paid);
                if (customers.compareTo(district.paid) != 0) return "customers of a district paid " + customers + ", the district has " + district.paid;
                districts = districts.add(district.paid);
                if (district.orders.size() != district.undelivered.size() + district.delivered.size())
                    return "a district has " + district.orders.size() + " orders, of which " + district.undelivered.size() + " are to be delivered and "
                            + district.delivered.size() + " are";
            }
            if (districts.compareTo(house.paid) != 0) return "districts were paid " + districts + ", the warehouse " + house.paid;
            lines += house.lines;
            for (Stock stock : house.stock) ordered += stock.ordered;
        }
        return lines == ordered ? null : "orders have " + lines + " lines, " + ordered + " were taken from stock";
    }

    static long[] collections() {
        long count = 0, ms = 0;
        for (GarbageCollectorMXBean b : ManagementFactory.getGarbageCollectorMXBeans()) {
            count += Math.max(0, b.getCollectionCount());
            ms += Math.max(0, b.getCollectionTime());
        }
        return new long[] {count, ms};
    }

    static void sleepUntil(long ns) throws InterruptedException {
        for (long left; (left = ns - System.nanoTime()) > 0; ) Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
    }

    public static void main(String[] args) throws InterruptedException {
        int n = Integer.parseInt(args[0]);
        long warm = Long.parseLong(args[1]), measure = Long.parseLong(args[2]), step = Long.parseLong(args[3]);
        fill(n);
        done = new AtomicLongArray(16 * n);
        Terminal[] terminals = new Terminal[n];
        for (int i = 0; i < n; i++) (terminals[i] = new Terminal(i)).start();
        sleepUntil(System.nanoTime() + warm * 1_000_000);
        long[] before = collections();
        System.out.println("window begins");
        System.out.flush();
        long begin = System.nanoTime();
        measuring = true;
        int steps = (int) (measure / step);
        long[] counts = new long[steps + 1], times = new long[steps + 1];
        for (int i = 1; i <= steps; i++) {
            sleepUntil(begin + i * step * 1_000_000);
            times[i] = System.nanoTime() - begin;
            for (int t = 0; t < n; t++) counts[i] += done.get(16 * t);
        }
        sleepUntil(begin + measure * 1_000_000);
        ended = true;
        long length = System.nanoTime() - begin;
        long[] after = collections();
        System.out.println("window ends");
        System.out.flush();
        Latencies all = new Latencies();
        long[] kinds = new long[KINDS.length];
        for (Terminal t : terminals) {
            t.join();
            if (t.failure != null) throw new IllegalStateException("warehouse " + t.number, t.failure);
            for (int i = 0; i < kinds.length; i++) kinds[i] += t.kinds[i];
            for (int i = 0; i < all.bins.length; i++) all.bins[i] += t.latencies.bins[i];
            all.count += t.latencies.count;
            all.sum += t.latencies.sum;
            all.least = Math.min(all.least, t.latencies.least);
            all.most = Math.max(all.most, t.latencies.most);
        }
        StringBuilder out = new StringBuilder();
        out.append("seconds ").append(length / 1e9).append("\ntransactions ").append(all.count).append('\n');
        for (int i = 0; i < kinds.length; i++) out.append(KINDS[i]).append(' ').append(kinds[i]).append('\n');
        out.append("collections ").append(after[0] - before[0]).append("\ncollecting ").append(after[1] - before[1]).append(" ms\n");
        for (int i = 1; i <= steps; i++) out.append("step ").append(times[i]).append(' ').append(counts[i]).append('\n');
        out.append("least ").append(all.least).append("\nmost ").append(all.most).append("\nsum ").append(all.sum).append('\n');
        for (int i = 0; i < all.bins.length; i++)
            if (all.bins[i] > 0) out.append("bin ").append(Latencies.low(i)).append(' ').append(i + 1 == all.bins.length ? Math.max(all.most + 1, Latencies.low(i) + 1) : Latencies.low(i + 1)).append(' ').append(all.bins[i]).append('\n');
        String fault = unbalanced();
        out.append("books ").append(fault == null ? "balance" : fault).append('\n');
        System.out.print(out);
        System.out.flush();
    }
}
