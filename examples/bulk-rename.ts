// Renames an identifier everywhere, in all the ways it is written: `fetch user` also stands for
// fetchUser, FetchUser, fetch_user, fetch-user and FETCH_USER. Whole identifiers only. Files named after
// it are renamed as well.
//
// Dry by default: it shows what would change and changes nothing. Set APPLY to true, or run
// `store("bulk-rename:apply", true)` in the same session, to change the files. With `pirn exec`, a session is the
// file given to `--store`, and `--yes=process` lets it look for files with git.

/** The words of the old and of the new name, in lower case with blanks between them. */
const FROM = "fetch user";
const TO = "load account";
/** Which files are looked at, as git pathspecs; an empty list means all. */
const PATHS: string[] = [];
const RENAME_FILES = true;
/** Folders with files of others, which are left alone outside of git, too. */
const SKIPPED_FOLDERS = [".git", "node_modules"];
const APPLY: boolean = load("bulk-rename:apply") === true;

const FILES_MAX = 1000;
const FILES_SHOWN = 30;
const LINES_SHOWN = 4;

interface Change { line: number; before: string; after: string }
interface FileChange { path: string; lines: string[]; changes: Change[] }
interface Edit { oldText: string; newText: string }
interface Move { from: string; to: string }

const quote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;
const escape = (word: string) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Every way to write a name, each once. */
function spellings(words: string): string[] {
  const parts = words.trim().toLowerCase().split(/\s+/);
  const capitals = parts.map((part) => part[0].toUpperCase() + part.slice(1));
  return [
    parts.join("_"),
    parts.join("-"),
    parts[0] + capitals.slice(1).join(""),
    capitals.join(""),
    parts.join("_").toUpperCase(),
  ];
}

// One word has fewer spellings than two: the first of equal ones counts.
const replacements = new Map<string, string>();
spellings(FROM).forEach((from, index) => {
  if (!replacements.has(from)) replacements.set(from, spellings(TO)[index]);
});
// A hyphen belongs to a name only in kebab case, so it may stand beside the other spellings.
const pattern = new RegExp(
  `(?<![\\w$])(?:${[...replacements.keys()].map(escape).join("|")})(?![\\w$])`, "g");
const rename = (text: string) => text.replace(pattern, (found) => replacements.get(found) ?? found);

async function run(command: string): Promise<string> {
  const { output, exit_code } = await tools.bash({ command, timeout: 120 });
  if (exit_code !== 0) throw new Error(`${command}\n${output}`);
  return output;
}

/** Text files that hold one of these words. */
async function filesWith(words: string[]): Promise<string[]> {
  const either = words.map((word) => `-e ${quote(word)}`).join(" ");
  const paths = PATHS.map(quote).join(" ");
  const output = await run(
    "if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then " +
    `git grep --untracked -lIwF ${either} -- ${paths}; ` +
    `else grep -rlIwF ${SKIPPED_FOLDERS.map((name) => `--exclude-dir=${name}`).join(" ")} ${either} -- ${paths || "."}; fi; ` +
    // Exit code 1 means that nothing was found.
    "[ $? -le 1 ]");
  return output.split("\n").filter((path) => path !== "" && path !== "(no output)");
}

/** The lines of a whole file. */
async function readLines(path: string): Promise<string[]> {
  const text: string = await tools.read({ path });
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

async function changesOf(path: string): Promise<FileChange> {
  const lines = await readLines(path);
  const changes = lines.flatMap((before, index) => {
    const after = rename(before);
    return after === before ? [] : [{ line: index + 1, before, after }];
  });
  return { path, lines, changes };
}

function isUnique(text: string, whole: string): boolean {
  const first = whole.indexOf(text);
  return first >= 0 && whole.indexOf(text, first + 1) < 0;
}

/**
 * Edits for `edit`, which wants each old text to occur once: a changed line takes in its neighbours until
 * it does, and ranges that touch become one.
 */
function editsFor({ lines, changes }: FileChange): Edit[] {
  const whole = lines.join("\n");
  const ranges: { start: number; end: number }[] = [];
  for (const change of changes) {
    let start = change.line - 1;
    let end = change.line;
    while (!isUnique(lines.slice(start, end).join("\n"), whole) && (start > 0 || end < lines.length)) {
      start = Math.max(0, start - 1);
      end = Math.min(lines.length, end + 1);
    }
    // A later range can reach back over several earlier ones.
    while (ranges.length > 0 && ranges[ranges.length - 1].end >= start) {
      const last = ranges.pop()!;
      start = Math.min(start, last.start);
      end = Math.max(end, last.end);
    }
    ranges.push({ start, end });
  }
  return ranges.map(({ start, end }) => {
    const oldText = lines.slice(start, end).join("\n");
    return { oldText, newText: rename(oldText) };
  });
}

async function moves(): Promise<Move[]> {
  if (!RENAME_FILES) return [];
  const searches = [...replacements.keys()].map((name) => tools.find({ pattern: `*${name}*` }));
  const found = new Set<string>((await Promise.all(searches)).flat());
  const renamed: Move[] = [];
  for (const from of [...found].sort()) {
    // Folders are left alone.
    if (from.endsWith("/") || from.split("/").some((part) => SKIPPED_FOLDERS.includes(part))) continue;
    const slash = from.lastIndexOf("/") + 1;
    const to = from.slice(0, slash) + rename(from.slice(slash));
    if (to !== from) renamed.push({ from, to });
  }
  return renamed;
}

function show({ path, changes }: FileChange): string {
  const lines = changes.slice(0, LINES_SHOWN).map(({ line, before, after }) =>
    `  ${line} - ${before.trim().slice(0, 110)}\n  ${line} + ${after.trim().slice(0, 110)}`);
  if (changes.length > LINES_SHOWN) lines.push(`  and ${changes.length - LINES_SHOWN} more`);
  return [`${path}: ${plural(changes.length, "line")}`, ...lines].join("\n");
}

const [candidates, taken, plannedMoves] = await Promise.all([
  filesWith([...replacements.keys()]),
  filesWith([...replacements.values()]),
  moves(),
]);
if (candidates.length > FILES_MAX) {
  throw new Error(`${candidates.length} files hold the name, at most ${FILES_MAX} are changed at once. Set PATHS.`);
}

const problems: string[] = [];
const changed: FileChange[] = [];
const read = await Promise.allSettled(candidates.map(changesOf));
read.forEach((result, index) => {
  if (result.status === "rejected") problems.push(`${candidates[index]}: ${result.reason.message}`);
  else if (result.value.changes.length > 0) changed.push(result.value);
});

if (changed.length === 0 && plannedMoves.length === 0) {
  return [`Nothing is named ${[...replacements.keys()].join(", ")}.`, ...problems].join("\n");
}
const lineCount = changed.reduce((sum, file) => sum + file.changes.length, 0);
const report: string[] = [];
if (taken.length > 0) {
  report.push(`Careful: the new name is already used in ${plural(taken.length, "file")}, for example ${taken.slice(0, 3).join(", ")}.`);
}

if (!APPLY) {
  changed.slice(0, FILES_SHOWN).forEach((file) => report.push(show(file)));
  if (changed.length > FILES_SHOWN) report.push(`and ${plural(changed.length - FILES_SHOWN, "more file")}`);
  plannedMoves.forEach(({ from, to }) => report.push(`${from} -> ${to}`));
  problems.forEach((problem) => report.push(`Left out: ${problem}`));
  report.push(`Dry run: ${plural(lineCount, "line")} in ${plural(changed.length, "file")} and ` +
    `${plural(plannedMoves.length, "file name")} would change.`);
  return report.join("\n");
}

// One file's failure does not stop the others; all of them are named at the end.
let edited = 0;
await Promise.all(changed.map(async (file) => {
  try {
    await tools.edit({ path: file.path, edits: editsFor(file) });
    edited += 1;
  } catch (error) {
    problems.push(`${file.path}: ${(error as Error).message}`);
  }
}));

// `mv -n` keeps a file that is already there, and says nothing about it, so the old one is looked for.
let moved = 0;
for (const { from, to } of plannedMoves) {
  const [old, fresh] = [quote(from), quote(to)];
  try {
    await run(`[ ! -e ${fresh} ] || { echo 'the new name is taken'; exit 1; }; ` +
      `git mv -- ${old} ${fresh} 2>/dev/null || mv -n -- ${old} ${fresh}; [ ! -e ${old} ]`);
    moved += 1;
  } catch (error) {
    problems.push(`${from}: ${(error as Error).message.split("\n").slice(1).join(" ").trim()}`);
  }
}
problems.forEach((problem) => report.push(`Not changed: ${problem}`));
report.push(`Changed ${plural(edited, "file")} and renamed ${plural(moved, "file")}.`);
return report.join("\n");
