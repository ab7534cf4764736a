// Sorts the error lines of many log files into groups: the same message with other numbers, times,
// addresses and ids is one group. Prints, for each group, how often, when first and last, in which
// files, and one sample. A second run in the same session says which groups are new.
//
// Run it with `pirn exec --yes=process --store FILE examples/log-triage.js` in the folder that holds the
// logs. Plain, gzipped and JSON-lines logs work. The constants say where to look and what to look for.

/** Where the logs lie. */
const FOLDER = ".";
/** Which files are logs. */
const NAMES = ["*.log", "*.log.[0-9]*", "*.log-*", "*.jsonl"];
/** Folders that never hold logs of interest. */
const SKIPPED_FOLDERS = [".git", "node_modules", "target", ".venv"];
/** What makes a line an error, in extended grep syntax and without regard to case. The last part is the
 * level of a JSON log that counts in tens, as bunyan and pino do. */
const ERROR_WORDS = 'error|fatal|critical|panic|exception|traceback|segfault|"level": ?[56]0';
/** Lines that say that nothing is wrong. */
const HARMLESS = /\b(?:no|0|zero|without) (?:errors?|exceptions?)\b|\berrors?[=:] ?(?:0|null|none|false)\b/i;
/** So many error lines of one file are looked at, the last ones; all are counted. */
const LINES_PER_FILE = 5_000;
/** So many error lines are looked at in all. */
const LINES_MAX = 200_000;
/** Names of files that one command takes: what a program can be given has an end. */
const NAME_CHARACTERS = 30_000;
/** What one command may print. A call's result has 16 MiB. */
const BYTES_PER_COMMAND = 8_000_000;
const GROUPS_SHOWN = 20;
const SAMPLE_LENGTH = 240;
/** The key under which the groups of the last run are kept. */
const STORE_KEY = "log-triage:groups";
const GROUPS_KEPT = 500;

const quote = (word) => `'${word.replaceAll("'", `'\\''`)}'`;
const shorten = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

async function run(command) {
  const { output, exit_code } = await tools.bash({ command, timeout: 600 });
  if (exit_code !== 0) throw new Error(`${shorten(command, 200)}: ${shorten(output.trim(), 200)}`);
  return output;
}

async function logFiles() {
  const either = (names, test) => names.map((name) => `${test} ${quote(name)}`).join(" -o ");
  const output = await run(
    `find ${quote(FOLDER)} \\( ${either(SKIPPED_FOLDERS, "-name")} \\) -prune -o ` +
    `-type f -size +0 \\( ${either(NAMES, "-name")} \\) -print 2>/dev/null | sort`);
  return output.split("\n").filter((path) => path.startsWith(FOLDER));
}

/** Parts of a list, each for one command. `cost` says how much of a part an entry takes; a part has 1. */
function parts(list, cost) {
  const found = [];
  let used = Infinity;
  for (const entry of list) {
    used += cost(entry);
    if (used > 1) {
      found.push([]);
      used = cost(entry);
    }
    found.at(-1).push(entry);
  }
  return found;
}

/** The command that looks for error lines, with options of grep that make it name the file in each line. */
function search(options, paths) {
  const grep = `grep ${options} -aiHE ${quote(ERROR_WORDS)}`;
  const packed = paths.filter((path) => path.endsWith(".gz"));
  const plain = paths.filter((path) => !path.endsWith(".gz"));
  const commands = packed.map((path) => `gzip -cdf -- ${quote(path)} | ${grep} --label=${quote(path)}`);
  if (plain.length > 0) commands.push(`${grep} -- ${plain.map(quote).join(" ")}`);
  return commands.join("; ");
}

const unreadable = [];

/** How many error lines each file has, without those that have none. */
async function countErrors(paths) {
  const known = new Set(paths);
  const counts = [];
  for (const line of (await run(`{ ${search("-c", paths)}; } 2>&1; true`)).split("\n")) {
    const end = line.lastIndexOf(":");
    const path = line.slice(0, end);
    if (!known.has(path)) {
      if (line !== "") unreadable.push(line);
    } else if (line.slice(end + 1) !== "0") counts.push({ path, count: Number(line.slice(end + 1)) });
  }
  return counts;
}

/** The error lines of some files, each with its file. */
async function errorLines(files) {
  const paths = files.map(({ path }) => path);
  const last = files.some(({ count }) => count > LINES_PER_FILE) ? ` | tail -n ${LINES_PER_FILE}` : "";
  const output = await run(`{ ${search("-n", paths)}; } 2>/dev/null${last} | tail -c ${BYTES_PER_COMMAND}`);
  // Packed files come first, then the others, each in the order of the list.
  const order = [...paths.filter((path) => path.endsWith(".gz")), ...paths.filter((path) => !path.endsWith(".gz"))];
  const found = [];
  let current = 0;
  for (const line of output.split("\n")) {
    let next = current;
    while (next < order.length && !line.startsWith(`${order[next]}:`)) next += 1;
    // What is left of a line that was cut has no name.
    if (next === order.length) continue;
    current = next;
    const numbered = line.slice(order[current].length + 1);
    found.push({ path: order[current], line: numbered.slice(numbered.indexOf(":") + 1).trim() });
  }
  return found;
}

const TIME_PATTERNS = [
  /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/,
  /\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d(?:\.\d+)?/,
  /\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d(?: [+-]\d{4})?/,
  /\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\b/,
];

function timeIn(line) {
  for (const pattern of TIME_PATTERNS) {
    const match = pattern.exec(line);
    if (match) return match[0];
  }
  return undefined;
}

/** A line of a JSON log, or nothing when the line is plain text or no error. */
function parseJsonLine(line) {
  if (!line.startsWith("{")) return { kind: "text" };
  let entry;
  try {
    entry = JSON.parse(line);
  } catch {
    return { kind: "text" };
  }
  const level = entry.level ?? entry.severity ?? entry.lvl;
  const isError = typeof level === "number"
    ? level >= 50
    : level === undefined || /err|fatal|crit|panic|alert|emerg/i.test(String(level));
  if (!isError) return { kind: "harmless" };
  const message = entry.message ?? entry.msg ?? entry.error ?? entry.err;
  const time = entry.time ?? entry.timestamp ?? entry.ts ?? entry["@timestamp"];
  return {
    kind: "error",
    // Quotation marks go, since text between them counts as one of the things that differ.
    message: typeof message === "string" ? message : JSON.stringify(message ?? entry).replaceAll('"', ""),
    time: typeof time === "number" ? isoTime(time) : time === undefined ? undefined : String(time),
  };
}

/** Seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by their size. */
function isoTime(number) {
  let ms = Math.abs(number) < 1e11 ? number * 1000 : number;
  while (ms > 1e14) ms /= 1000;
  return new Date(ms).toISOString();
}

/** Replaces what differs between two occurrences of the same message. */
function normalise(message) {
  let text = message;
  for (const pattern of TIME_PATTERNS) text = text.replace(pattern, "");
  return text
    .replace(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gi, "<uuid>")
    .replace(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, "<address>")
    .replace(/\b0x[0-9a-f]+\b/gi, "<hex>")
    .replace(/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b/gi, "<hex>")
    .replace(/"[^"]*"/g, '"…"')
    .replace(/\d+(?:\.\d+)?/g, "<n>")
    .replace(/\s+/g, " ")
    .trim();
}

const groups = new Map();

function add(path, line) {
  const parsed = parseJsonLine(line);
  if (parsed.kind === "harmless") return;
  const message = parsed.message ?? line;
  if (HARMLESS.test(message)) return;
  const key = shorten(normalise(message), 300);
  const time = parsed.time ?? timeIn(line);
  const group = groups.get(key) ?? { count: 0, first: time, last: time, files: new Set(), sample: line };
  group.count += 1;
  group.files.add(path);
  // Times of one form compare as text.
  if (time !== undefined) {
    if (group.first === undefined || time < group.first) group.first = time;
    if (group.last === undefined || time > group.last) group.last = time;
  }
  groups.set(key, group);
}

const paths = await logFiles();
if (paths.length === 0) return `No log files (${NAMES.join(", ")}) below ${FOLDER}`;

const counted = await parallel(parts(paths, (path) => (path.length + 3) / NAME_CHARACTERS), 8, countErrors);
const files = counted.flat();
const total = files.reduce((sum, { count }) => sum + count, 0);
let seen = 0;
const cost = ({ path, count }) => Math.max((path.length + 3) / NAME_CHARACTERS, count / LINES_PER_FILE);
for (const part of parts(files, cost)) {
  if (seen >= LINES_MAX) break;
  for (const { path, line } of await errorLines(part)) {
    seen += 1;
    add(path, line);
  }
}

const known = load(STORE_KEY);
const sorted = [...groups].sort((a, b) => b[1].count - a[1].count || (a[0] < b[0] ? -1 : 1));
store(STORE_KEY, Object.fromEntries(sorted.slice(0, GROUPS_KEPT).map(([key, group]) => [key, group.count])));

const errors = sorted.reduce((sum, [, group]) => sum + group.count, 0);
const report = [`${plural(errors, "error")} in ${plural(groups.size, "group")}, from ${plural(paths.length, "file")}`];
if (seen < total) report.push(`Only ${seen} of ${total} matching lines were looked at.`);
for (const problem of unreadable.slice(0, 5)) report.push(`Could not read ${problem}`);

sorted.slice(0, GROUPS_SHOWN).forEach(([key, group], index) => {
  const change = known === undefined
    ? ""
    : known[key] === undefined ? ", new" : `, ${known[key]} at the last run`;
  const times = group.first === undefined
    ? "no time"
    : group.first === group.last ? group.first : `${group.first} to ${group.last}`;
  const [first, ...others] = group.files;
  const where = others.length === 0 ? first : `${first} and ${plural(others.length, "other file")}`;
  report.push(`${index + 1}. ${shorten(key, 160)}\n   ${group.count}×${change}; ${times}; ${where}\n   ${shorten(group.sample, SAMPLE_LENGTH)}`);
});
if (sorted.length > GROUPS_SHOWN) report.push(`${sorted.length - GROUPS_SHOWN} smaller groups are not shown.`);
return report.join("\n");
