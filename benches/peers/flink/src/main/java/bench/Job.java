package bench;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionJobVertex;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * Job LABEL SQL_FILE PARALLELISMS streaming|batch RECORDS [NAME=VALUE ...]
 * Runs the statements of SQL_FILE (separated by a line holding ';') in a mini cluster of this JVM.
 * PARALLELISMS is a list such as 1,1,2,2: the last statement runs once for each, in this order, in one JVM.
 * NAME=VALUE fills ${NAME}; a name with a dot is a Flink option.
 */
public class Job {
    public static void main(String[] args) throws Exception {
        long main = System.currentTimeMillis();
        long jvm = ManagementFactory.getRuntimeMXBean().getStartTime();
        String label = args[0];
        String sql = Files.readString(Path.of(args[1]));
        int[] pars = java.util.Arrays.stream(args[2].split(",")).mapToInt(Integer::parseInt).toArray();
        int maxPar = java.util.Arrays.stream(pars).max().getAsInt();
        boolean batch = args[3].equals("batch");
        long records = Long.parseLong(args[4]);
        Map<String, String> conf = new HashMap<>();
        for (int i = 5; i < args.length; i++) {
            int eq = args[i].indexOf('=');
            String k = args[i].substring(0, eq), v = args[i].substring(eq + 1);
            if (k.indexOf('.') >= 0) conf.put(k, v); else sql = sql.replace("${" + k + "}", v);
        }
        conf.putIfAbsent("taskmanager.memory.managed.size", "256m");
        conf.putIfAbsent("taskmanager.memory.network.min", "64m");
        conf.putIfAbsent("taskmanager.memory.network.max", "64m");
        conf.putIfAbsent("heartbeat.timeout", "300000");
        conf.putIfAbsent("rest.bind-port", "0");
        conf.putIfAbsent("rest.address", "127.0.0.1");
        conf.putIfAbsent("rest.bind-address", "127.0.0.1");
        Configuration c = Configuration.fromMap(conf);
        MiniCluster mc = new MiniCluster(new MiniClusterConfiguration.Builder()
                .setConfiguration(c).setNumTaskManagers(1).setNumSlotsPerTaskManager(maxPar).build());
        mc.start();
        int port = mc.getRestAddress().get().getPort();
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createRemoteEnvironment("127.0.0.1", port, c, new String[0]);
        EnvironmentSettings.Builder b = EnvironmentSettings.newInstance();
        StreamTableEnvironment t = StreamTableEnvironment.create(env, (batch ? b.inBatchMode() : b.inStreamingMode()).build());
        String[] sts = java.util.Arrays.stream(sql.split("\n;")).filter(x -> !x.isBlank()).toArray(String[]::new);
        for (int i = 0; i + 1 < sts.length; i++) t.executeSql(sts[i]);
        for (int par : pars) run(label, sts[sts.length - 1], par, records, env, t, mc, jvm);
        mc.close();
        Runtime.getRuntime().halt(0);
    }

    static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    static String load() throws Exception {
        return Files.readString(Path.of("/proc/loadavg")).split(" ")[0];
    }

    static void run(String label, String st, int par, long records, StreamExecutionEnvironment env,
            StreamTableEnvironment t, MiniCluster mc, long jvm) throws Exception {
        System.gc();
        env.setParallelism(par);
        t.getConfig().set("parallelism.default", String.valueOf(par));
        t.getConfig().set("table.exec.resource.default-parallelism", String.valueOf(par));
        String load = load();
        long submit = System.currentTimeMillis(), cpu0 = cpu();
        TableResult last = t.executeSql(st);
        JobID id = last.getJobClient().get().getJobID();
        long cpu1 = cpu();
        last.await();
        long end = System.currentTimeMillis(), cpu2 = cpu();
        AccessExecutionGraph g = mc.getExecutionGraph(id).get();
        long running = Long.MAX_VALUE, fin = 0;
        int tasks = 0;
        for (AccessExecutionJobVertex v : g.getAllVertices().values())
            for (AccessExecutionVertex x : v.getTaskVertices()) {
                tasks++;
                running = Math.min(running, x.getCurrentExecutionAttempt().getStateTimestamp(ExecutionState.RUNNING));
                fin = Math.max(fin, x.getCurrentExecutionAttempt().getStateTimestamp(ExecutionState.FINISHED));
            }
        double secs = (fin - running) / 1000.0, cs = (cpu2 - cpu1) / 1e9;
        System.out.printf("{\"label\":\"%s\",\"p\":%d,\"tasks\":%d,\"records\":%d,\"secs\":%.3f,\"rps\":%.0f,\"cpu_s\":%.2f,"
                + "\"rec_per_cpu_s\":%.0f,\"plan_cpu_s\":%.2f,\"jvm_to_submit_ms\":%d,\"submit_to_running_ms\":%d,\"submit_to_end_ms\":%d,\"load1\":%s}%n",
                label, par, tasks, records, secs, records / secs, cs, records / cs, (cpu1 - cpu0) / 1e9,
                submit - jvm, running - submit, end - submit, load);
        System.out.flush();
    }
}
