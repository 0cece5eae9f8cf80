import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeRoot;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * Oracle FOLDER OUT: evaluates every expression of FOLDER/*.cases over the row that host/src/expr/golden.rs defines, and
 * writes what Flink makes of it: `expression => TYPE => value`, or `expression => fails => why`.
 */
public class Oracle {
    /** The columns of `golden_row`. */
    static final String ROW = String.join(", ",
        "CAST(7 AS INT) AS i", "CAST(0 AS INT) AS z", "CAST(-7 AS INT) AS neg", "CAST(NULL AS INT) AS n",
        "CAST(2147483647 AS INT) AS mx", "CAST(-2147483648 AS INT) AS mn", "CAST(100 AS TINYINT) AS ti",
        "CAST(300 AS SMALLINT) AS si", "CAST(3000000000 AS BIGINT) AS b", "CAST(9223372036854775807 AS BIGINT) AS bmx",
        "CAST('12' AS STRING) AS s", "CAST('9' AS STRING) AS s09", "CAST('abc' AS STRING) AS e",
        "CAST(NULL AS STRING) AS sn", "CAST(' 12 ' AS STRING) AS sp", "CAST('数据é' AS STRING) AS uni",
        "CAST('2024-01-02 03:04:05' AS STRING) AS dt", "CAST(10.50 AS DECIMAL(10, 2)) AS d",
        "CAST(3 AS DECIMAL(38, 18)) AS d2", "CAST(-2.5 AS DECIMAL(10, 1)) AS dn", "CAST(0 AS DECIMAL(10, 2)) AS dz",
        "CAST(2.5 AS DOUBLE) AS f", "CAST(0 AS DOUBLE) AS fz", "CAST(1.5 AS FLOAT) AS fl",
        "TIMESTAMP '2024-01-02 03:04:05.678' AS ts", "TO_TIMESTAMP_LTZ(1704164645678, 3) AS tz",
        "DATE '2024-01-02' AS da", "TIME '03:04:05.6' AS tm", "TRUE AS bo", "CAST(NULL AS BOOLEAN) AS bn",
        "CAST(x'466c696e6b' AS BYTES) AS `by`");
    static final int AT_ONCE = 40;

    record Case(String expression, String type) {}

    static TableEnvironment env;
    static final TreeMap<String, String> results = new TreeMap<>();

    public static void main(String[] args) throws Exception {
        env = TableEnvironment.create(EnvironmentSettings.inBatchMode());
        env.getConfig().set("table.local-time-zone", "Asia/Shanghai");
        env.getConfig().set("parallelism.default", "1");
        env.executeSql("CREATE TEMPORARY VIEW t AS SELECT " + ROW);
        List<Case> cases = new ArrayList<>();
        for (String expression : expressions(Path.of(args[0]))) {
            try {
                LogicalType type = env.sqlQuery("SELECT " + expression + " AS x FROM t").getResolvedSchema()
                    .getColumnDataTypes().get(0).getLogicalType().copy(true);
                cases.add(new Case(expression, shown(type)));
            } catch (Throwable e) {
                results.put(expression, "fails => " + why(e));
            }
        }
        for (int from = 0; from < cases.size(); from += AT_ONCE) {
            evaluate(cases.subList(from, Math.min(cases.size(), from + AT_ONCE)));
        }
        try (PrintWriter out = new PrintWriter(args[1], "UTF-8")) {
            out.println("# What Flink " + org.apache.flink.runtime.util.EnvironmentInformation.getVersion()
                + " makes of the expressions in tests/expr, written by tests/oracle/run.sh. Not to be edited.");
            results.forEach((expression, result) -> out.println(expression + " => " + result));
        }
        System.exit(0);
    }

    static List<String> expressions(Path folder) throws Exception {
        List<Path> files;
        try (Stream<Path> all = Files.list(folder)) {
            files = all.filter(p -> p.toString().endsWith(".cases")).sorted().collect(Collectors.toList());
        }
        List<String> all = new ArrayList<>();
        for (Path file : files) {
            for (String line : Files.readAllLines(file)) {
                int remark = line.indexOf("  #");
                String text = (remark < 0 ? line : line.substring(0, remark)).trim();
                int arrow = text.indexOf(" => ");
                if (!text.isEmpty() && !text.startsWith("#") && arrow > 0) all.add(text.substring(0, arrow));
            }
        }
        return all.stream().distinct().collect(Collectors.toList());
    }

    /** All in one job; if it fails, each half by itself. */
    static void evaluate(List<Case> cases) {
        String columns = "";
        for (int i = 0; i < cases.size(); i++) {
            String nested = isNested(cases.get(i)) ? "CAST(NULL AS STRING)" : "CAST(" + cases.get(i).expression + " AS STRING)";
            columns += (i == 0 ? "" : ", ") + nested + " AS c" + i;
        }
        try (CloseableIterator<Row> rows = env.executeSql("SELECT " + columns + " FROM t").collect()) {
            Row row = rows.next();
            for (int i = 0; i < cases.size(); i++) {
                Case c = cases.get(i);
                Object value = row.getField(i);
                String text = isNested(c) ? "?" : value == null ? "NULL" : c.type.equals("STRING") ? "'" + value + "'" : value.toString();
                results.put(c.expression, c.type + " => " + text.replace("\n", "\\n"));
            }
        } catch (Throwable e) {
            if (cases.size() == 1) {
                results.put(cases.get(0).expression, "fails => " + why(e));
            } else {
                int half = cases.size() / 2;
                evaluate(cases.subList(0, half));
                evaluate(cases.subList(half, cases.size()));
            }
        }
    }

    static boolean isNested(Case c) {
        return c.type.startsWith("ARRAY") || c.type.startsWith("MAP") || c.type.startsWith("ROW") || c.type.startsWith("RAW");
    }

    static String shown(LogicalType type) {
        return switch (type.getTypeRoot()) {
            case CHAR, VARCHAR -> "STRING";
            case BINARY, VARBINARY -> "BYTES";
            default -> type.asSummaryString();
        };
    }

    static String why(Throwable e) {
        Throwable cause = e;
        while (cause.getCause() != null) cause = cause.getCause();
        String message = String.valueOf(cause.getMessage()).split("\n")[0];
        return cause.getClass().getSimpleName() + ": " + message.substring(0, Math.min(message.length(), 120));
    }
}
