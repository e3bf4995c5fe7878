import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

/** Counts matches of A+ then B per key: the arguments are a file of "key type" lines and any, next or contiguous. */
public class FlinkCount {
    /** One event; POJO, so that Flink serializes it without Kryo. */
    public static class Event {
        public long time;
        public int key;
        public String type;
    }

    static final AtomicLong MATCHES = new AtomicLong();

    static SimpleCondition<Event> is(String type) {
        return SimpleCondition.of(e -> e.type.equals(type));
    }

    static Pattern<Event, ?> pattern(String semantics) {
        var a = Pattern.<Event>begin("a", AfterMatchSkipStrategy.noSkip()).where(is("A")).oneOrMore();
        return switch (semantics) {
            case "any" -> a.allowCombinations().followedByAny("b").where(is("B"));
            case "next" -> a.greedy().until(is("B")).followedBy("b").where(is("B"));
            default -> a.consecutive().next("b").where(is("B"));
        };
    }

    public static void main(String[] args) throws Exception {
        List<Event> events = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            Event e = new Event();
            e.time = events.size();
            e.key = Integer.parseInt(line.substring(0, line.indexOf(' ')));
            e.type = line.substring(line.indexOf(' ') + 1);
            events.add(e);
        }
        var process = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        List<Event> few = events.subList(0, Math.min(10, events.size()));
        for (List<Event> some : List.of(few, few, events)) {  // the first warms up, the second is what a job costs
            MATCHES.set(0);
            StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
            env.setParallelism(1);
            var input = env.fromData(new ArrayList<>(some)).assignTimestampsAndWatermarks(
                    WatermarkStrategy.<Event>forMonotonousTimestamps().withTimestampAssigner((e, t) -> e.time));
            CEP.pattern(input.keyBy(e -> e.key), pattern(args[1])).process(new PatternProcessFunction<Event, String>() {
                @Override
                public void processMatch(Map<String, List<Event>> match, Context context, Collector<String> out) {
                    MATCHES.incrementAndGet();
                }
            });
            long cpu = process.getProcessCpuTime(), begin = System.nanoTime();
            env.execute();
            System.out.printf("%d %.3f %.3f%n", MATCHES.get(), (System.nanoTime() - begin) / 1e9,
                    (process.getProcessCpuTime() - cpu) / 1e9);
        }
    }
}
