import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

/** The three questions in Flink CEP, or with arguments `falling n ...` or `all n ...`: all trends of n falling prices. */
public class FlinkCep {
    /** One event; POJO, so that Flink serializes it without Kryo. */
    public static class Event {
        public long time;
        public String key;
        public String type;
        public double price;

        @Override
        public boolean equals(Object other) {
            return other instanceof Event e && time == e.time && key.equals(e.key) && type.equals(e.type);
        }

        @Override
        public int hashCode() {
            return Long.hashCode(time);
        }
    }

    /** Matches, events in them, sum of their prices, per key; the mini cluster runs in this process. */
    static final Map<String, double[]> TOTALS = new ConcurrentHashMap<>();

    static Event event(long time, String key, String type, double price) {
        Event e = new Event();
        e.time = time;
        e.key = key;
        e.type = type;
        e.price = price;
        return e;
    }

    static SimpleCondition<Event> is(String type) {
        return SimpleCondition.of(e -> e.type.equals(type));
    }

    /** Every subsequence; that of falling prices, where all prices fall. */
    static Pattern<Event, ?> all() {
        return Pattern.<Event>begin("s").where(SimpleCondition.of(e -> true)).oneOrMore().allowCombinations();
    }

    static Pattern<Event, ?> falling() {
        return Pattern.<Event>begin("s").where(new IterativeCondition<>() {
            @Override
            public boolean filter(Event e, Context<Event> context) throws Exception {
                Event last = null;
                for (Event before : context.getEventsForPattern("s")) last = before;
                return last == null || last.price > e.price;
            }
        }).oneOrMore().allowCombinations();
    }

    /** Runs a pattern per key, counts its matches in TOTALS and returns the CPU seconds of this process. */
    static double run(List<Event> events, Pattern<Event, ?> pattern) throws Exception {
        TOTALS.clear();
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(1);
        var input = env.fromData(events).assignTimestampsAndWatermarks(
                WatermarkStrategy.<Event>forMonotonousTimestamps().withTimestampAssigner((e, t) -> e.time));
        CEP.pattern(input.keyBy(e -> e.key), pattern).process(new PatternProcessFunction<Event, String>() {
            @Override
            public void processMatch(Map<String, List<Event>> match, Context context, Collector<String> out) {
                double[] total = null;
                for (List<Event> part : match.values()) {
                    for (Event e : part) {
                        if (total == null) total = TOTALS.computeIfAbsent(e.key, k -> new double[3]);
                        total[1]++;
                        total[2] += e.price;
                    }
                }
                total[0]++;
            }
        });
        var process = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long start = process.getProcessCpuTime();
        env.execute();
        return (process.getProcessCpuTime() - start) / 1e9;
    }

    static List<Event> read(String file, int keyLength) throws Exception {
        List<Event> events = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(file)).stream().skip(1).toList()) {
            String[] w = line.split(",");
            long time = LocalDateTime.parse(w[0].replace(' ', 'T')).toInstant(ZoneOffset.UTC).toEpochMilli();
            boolean prices = file.startsWith("stocks");
            events.add(event(time, w[1] + " " + w[0].substring(11, keyLength), prices ? "" : w[2],
                    prices ? Double.parseDouble(w[2]) : 0));
        }
        return events;
    }

    static void show(String name, List<Event> events, Pattern<Event, ?> pattern) throws Exception {
        run(events, pattern);
        System.out.println("--- " + name);
        new TreeMap<>(TOTALS).forEach((key, t) -> System.out.printf(
                "%-12s matches %.0f  avg length %.3f  avg price %.3f%n", key, t[0], t[1] / t[0], t[2] / t[1]));
    }

    public static void main(String[] args) throws Exception {
        for (int k = 1; k < args.length; k++) {
            List<Event> events = new ArrayList<>();
            for (int i = 0; i < Integer.parseInt(args[k]); i++) events.add(event(i, "a", "", -i));
            double seconds = run(events, args[0].equals("falling") ? falling() : all());
            System.out.printf("%s %.0f %.3f%n", args[k], TOTALS.get("a")[0], seconds);
        }
        if (args.length > 0) return;
        List<Event> clicks = read("clicks.csv", 13);  // key: user and hour
        show("1 any", clicks, Pattern.<Event>begin("v").where(is("View")).oneOrMore().allowCombinations()
                .followedByAny("c").where(is("Cart")).followedByAny("b").where(is("Buy")));
        show("1 next", clicks, Pattern.<Event>begin("v").where(is("View")).oneOrMore()
                .followedBy("c").where(is("Cart")).followedBy("b").where(is("Buy")));
        show("1 next, greedy", clicks, Pattern.<Event>begin("v").where(is("View")).oneOrMore().greedy()
                .followedBy("c").where(is("Cart")).followedBy("b").where(is("Buy")));
        show("1 contiguous", clicks, Pattern.<Event>begin("v").where(is("View")).oneOrMore().consecutive()
                .next("c").where(is("Cart")).next("b").where(is("Buy")));
        show("2", read("stocks.csv", 15), falling());  // key: company and ten minutes
        show("3", read("refunds.csv", 13), Pattern.<Event>begin("v").where(is("View")).oneOrMore()
                .allowCombinations().notFollowedBy("r").where(is("Refund")).followedByAny("b").where(is("Buy")));
    }
}
