// Tetrad's BOSS, GRaSP or FGES on one table, for `simulations.benchmarks.other_languages`.
//
// Arguments: boss, grasp or fges, and gaussian-bic, bic or bdeu. Reads table.csv and arities, writes found: the CPU
// seconds of the second of two searches, and the matrix of the CPDAG. The scores are BIC, and BDeu of ess 1, without a
// prior on structures; one thread; other settings as they are. BIC of categories is WholeBic in place of Tetrad's.
import edu.cmu.tetrad.data.*;
import edu.cmu.tetrad.graph.*;
import edu.cmu.tetrad.search.*;
import edu.cmu.tetrad.search.score.*;
import java.lang.management.ManagementFactory;
import java.nio.file.*;
import java.util.*;

public class TetradSearch {
    static DataSet table(boolean numbers) throws Exception {
        List<String> lines = Files.readAllLines(Path.of("table.csv"));
        String[] arities = Files.readString(Path.of("arities")).trim().split(" ");
        int rows = lines.size(), n = lines.get(0).split(",").length;
        DataBox box = numbers ? new VerticalDoubleDataBox(rows, n) : new VerticalIntDataBox(rows, n);
        List<Node> nodes = new ArrayList<>();
        for (int j = 0; j < n; j++)
            nodes.add(numbers ? new ContinuousVariable("v" + j)
                              : new DiscreteVariable("v" + j, Integer.parseInt(arities[j])));
        for (int i = 0; i < rows; i++) {
            String[] cells = lines.get(i).split(",");
            for (int j = 0; j < n; j++)
                box.set(i, j, numbers ? (Number) Double.valueOf(cells[j]) : (Number) Integer.valueOf(cells[j]));
        }
        return new BoxDataSet(box, nodes);
    }

    /** BIC whose penalty counts all configurations of the parents. Tetrad's counts those that occur in the table, so that
        with many parents a family costs little. */
    static class WholeBic extends DiscreteBicScore {
        final int[][] codes;
        final int[] arities;

        WholeBic(DataSet table) {
            super(table);
            codes = new int[table.getNumColumns()][table.getNumRows()];
            arities = new int[codes.length];
            for (int j = 0; j < codes.length; j++) {
                arities[j] = ((DiscreteVariable) table.getVariable(j)).getNumCategories();
                for (int i = 0; i < codes[j].length; i++) codes[j][i] = table.getInt(i, j);
            }
        }

        @Override
        public double localScore(int node, int... parents) {
            int rows = codes[node].length, arity = arities[node];
            double q = 1;
            for (int p : parents) q *= arities[p];
            double penalty = q * (arity - 1) * Math.log(rows);
            if (q * arity > 1 << 24) return -penalty;  // at least the score, and far below that of no parents
            int[] row = new int[rows], all = new int[(int) q], cells = new int[(int) q * arity];
            for (int p : parents)
                for (int i = 0; i < rows; i++) row[i] = row[i] * arities[p] + codes[p][i];
            for (int i = 0; i < rows; i++) {
                all[row[i]]++;
                cells[row[i] * arity + codes[node][i]]++;
            }
            double fit = 0;
            for (int count : cells) if (count > 0) fit += count * Math.log(count);
            for (int count : all) if (count > 0) fit -= count * Math.log(count);
            return 2 * fit - penalty;
        }
    }

    static Graph search(String program, String kind, DataSet table) throws Exception {
        Score score;
        if (kind.equals("gaussian-bic")) {
            SemBicScore made = new SemBicScore(new CovarianceMatrix(table));
            made.setPenaltyDiscount(1);
            made.setStructurePrior(0);
            score = made;
        } else if (kind.equals("bic")) {
            score = new WholeBic(table);
        } else {
            BdeuScore made = new BdeuScore(table);
            made.setSamplePrior(1);
            made.setStructurePrior(0);
            score = made;
        }
        if (program.equals("boss")) {
            Boss boss = new Boss(score);
            boss.setNumThreads(1);
            PermutationSearch found = new PermutationSearch(boss);
            found.setSeed(1);
            return found.search();
        }
        if (program.equals("grasp")) {
            Grasp grasp = new Grasp(score);
            grasp.setSeed(1);
            grasp.bestOrder(score.getVariables());
            return grasp.getGraph(true);
        }
        Fges fges = new Fges(score);
        fges.setParallelized(false);
        return fges.search();
    }

    public static void main(String[] given) throws Exception {
        DataSet table = table(given[1].equals("gaussian-bic"));
        var clock = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        search(given[0], given[1], table);
        long began = clock.getProcessCpuTime();
        Graph found = search(given[0], given[1], table);
        StringBuilder out = new StringBuilder((clock.getProcessCpuTime() - began) / 1e9 + "\n");
        int n = table.getNumColumns();
        int[][] joined = new int[n][n];
        for (Edge edge : found.getEdges()) {
            int a = Integer.parseInt(edge.getNode1().getName().substring(1));
            int b = Integer.parseInt(edge.getNode2().getName().substring(1));
            if (edge.getEndpoint1() != Endpoint.ARROW) joined[a][b] = 1;
            if (edge.getEndpoint2() != Endpoint.ARROW) joined[b][a] = 1;
        }
        for (int[] row : joined) {
            for (int cell : row) out.append(cell).append(" ");
            out.append("\n");
        }
        Files.writeString(Path.of("found"), out);
        System.exit(0);
    }
}
