// The worker of quota-blind in Java: pools of as many threads as the runtime says there are CPUs,
// one for requests and one for the parts of jobs.
//
// Reads "r ID ROUNDS", a request, and "b ID PARTS ROUNDS", a job of so many parts; answers "ID"
// when it is done.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Collections;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

public class Worker {
    // Where results go, so that the compiler keeps the work.
    static volatile long sink;

    static void work(int rounds) {
        long value = 1;
        for (int i = 0; i < rounds; i++) {
            value = value * 6364136223846793005L + i;
        }
        sink = value;
    }

    static synchronized void answer(String line) {
        System.out.print(line + "\n");
        System.out.flush();
    }

    public static void main(String[] args) throws Exception {
        int cpus = Runtime.getRuntime().availableProcessors();
        ExecutorService requests = Executors.newFixedThreadPool(cpus);
        ExecutorService jobs = Executors.newCachedThreadPool();
        ExecutorService parts = Executors.newWorkStealingPool();
        answer("ready " + cpus + " " + Runtime.version());
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            if (words.length == 3 && words[0].equals("r")) {
                int rounds = Integer.parseInt(words[2]);
                requests.execute(() -> {
                    work(rounds);
                    answer(words[1]);
                });
            } else if (words.length == 4 && words[0].equals("b")) {
                int rounds = Integer.parseInt(words[3]);
                Callable<Object> part = Executors.callable(() -> work(rounds));
                int count = Integer.parseInt(words[2]);
                jobs.execute(() -> {
                    try {
                        parts.invokeAll(Collections.nCopies(count, part));
                        answer(words[1]);
                    } catch (InterruptedException ended) {
                        Thread.currentThread().interrupt();
                    }
                });
            }
        }
        System.exit(0);
    }
}
