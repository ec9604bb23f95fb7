// Work in the thread pool of Node.js, in bursts. Some bursts use four threads, and directly follow
// each other. The others use a single thread, with pauses. The argument is the share of the former.
const { pbkdf2, pbkdf2Sync } = require("crypto");
const share = Number(process.argv[2]);
const AT_ONCE = 4, PART_MS = 1.5, MANY_MS = 75, ONE_MS = 30, PAUSE_MS = 40;

// The rounds of one part of a burst, from the CPU time of a test.
pbkdf2Sync("job", "part", 20000, 32, "sha256");
const from = process.cpuUsage();
pbkdf2Sync("job", "part", 20000, 32, "sha256");
const used = process.cpuUsage(from);
const rounds = Math.max(1, Math.round((20000 * PART_MS * 1000) / (used.user + used.system)));

// Does `left` parts of work, `atOnce` parts in parallel, then calls `then`.
function burst(left, atOnce, then) {
  let running = 0;
  const next = () => {
    while (running < atOnce && left > 0) {
      running++;
      left--;
      pbkdf2("job", "part", rounds, 32, "sha256", () => {
        running--;
        if (left > 0 || running > 0) next();
        else then();
      });
    }
  };
  next();
}

let owed = 0;
function again() {
  owed += share;
  if (owed >= 1) {
    owed -= 1;
    burst(MANY_MS / PART_MS, AT_ONCE, again);
  } else {
    burst(ONE_MS / PART_MS, 1, () => setTimeout(again, PAUSE_MS * (0.5 + Math.random())));
  }
}
again();
