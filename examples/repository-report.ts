// A report on the repository in the current folder: languages, largest files, packages, open marks
// with author and age, and who has been active. Run it with
// `pirn exec --yes=process examples/repository-report.ts`; it runs git and counts lines.
//
// A folder outside git works too; authors and activity are then left out.

/** How many lines of each list are shown. */
const LARGEST_SHOWN = 10;
const MARKS_SHOWN = 15;
const AUTHORS_SHOWN = 5;
/** Marks beyond this many are counted, but nobody asks git who wrote them. */
const MARKS_BLAMED = 200;
/** More marks than this are not looked at. */
const MARKS_MAX = 2000;
/** What counts as an open mark: the word, then a colon or a name in parentheses. */
const MARK = "\\b(TODO|FIXME)\\b[:(]";
const MANIFESTS = ["Cargo.toml", "package.json", "pyproject.toml", "go.mod", "pom.xml", "Gemfile"];
const DAY_MS = 24 * 60 * 60 * 1000;

const LANGUAGES: Record<string, string> = {
  c: "C", h: "C", cc: "C++", cpp: "C++", hpp: "C++", cs: "C#", css: "CSS", dart: "Dart", ex: "Elixir",
  exs: "Elixir", go: "Go", hs: "Haskell", html: "HTML", java: "Java", js: "JavaScript", cjs: "JavaScript",
  mjs: "JavaScript", jsx: "JavaScript", json: "JSON", jsonl: "JSON", kt: "Kotlin", lua: "Lua",
  md: "Markdown", php: "PHP", pl: "Perl", proto: "Protobuf", py: "Python", rb: "Ruby", rs: "Rust",
  scala: "Scala", scss: "CSS", sh: "Shell", bash: "Shell", sql: "SQL", swift: "Swift", toml: "TOML",
  ts: "TypeScript", tsx: "TypeScript", txt: "Text", vue: "Vue", xml: "XML", yaml: "YAML", yml: "YAML",
  zig: "Zig",
};

/** Languages whose files hold data or are written by a program; they are long without a reason to worry. */
const DATA = ["JSON", "Lock file", "Other", "Text", "XML", "YAML"];

interface SourceFile { path: string; lines: number; bytes: number; language: string }
interface Mark { path: string; line: number; text: string; author?: string; writtenMs?: number }

const quote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
const number = (value: number) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");
const plural = (count: number, word: string) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

/** Runs a command whose failure means "nothing to tell" and returns its output's lines. */
async function run(command: string): Promise<string[]> {
  const { output, exit_code } = await tools.bash({ command: `${command} 2>/dev/null`, timeout: 120 });
  return exit_code === 0 ? output.split("\n").filter((line: string) => line !== "") : [];
}

function languageOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (/^(.*\.lock|.*-lock\.(json|yaml)|go\.sum)$/.test(name)) return "Lock file";
  if (/^(GNU)?[Mm]akefile$/.test(name)) return "Make";
  if (/^Dockerfile/.test(name)) return "Docker";
  const dot = name.lastIndexOf(".");
  return (dot > 0 && LANGUAGES[name.slice(dot + 1).toLowerCase()]) || "Other";
}

/** Counts lines and bytes below one entry of the root; one call per entry keeps each answer small. */
async function measure(list: string): Promise<SourceFile[]> {
  // `xargs` fails when one file is gone or unreadable; the others still count.
  const each = (command: string) => run(`{ ${list} | xargs -0 -r ${command} --; true; }`);
  // `grep -c` counts a last line that has no end, which `wc -l` does not.
  const [sizes, counts] = await Promise.all([each("wc -c"), each("grep -acH ''")]);
  const bytesOf = new Map<string, number>();
  for (const line of sizes) {
    const [, bytes, path] = /^\s*(\d+)\s(.+)$/.exec(line) ?? [];
    // After the files of each batch comes a line with their total.
    if (path && !bytesOf.has(path)) bytesOf.set(path, Number(bytes));
  }
  return counts.map((line: string) => {
    const end = line.lastIndexOf(":");
    const [name, lines] = [line.slice(0, end), Number(line.slice(end + 1))];
    const path = name.replace(/^\.\//, "");
    return { path, lines, bytes: bytesOf.get(name) ?? 0, language: languageOf(path) };
  });
}

async function sourceFiles(isGit: boolean): Promise<SourceFile[]> {
  if (!isGit) return measure("find . -name .git -prune -o -type f -print0");
  const git = "git ls-files -z --cached --others --exclude-standard --deduplicate --";
  const folders = (await tools.ls({})).filter(({ type }) => type === "folder").map(({ name }) => `${name}/`);
  const lists = [":(glob)*", ...folders].map((entry) => `${git} ${quote(entry)}`);
  return (await Promise.all(lists.map(measure))).flat();
}

async function marks(): Promise<{ found: Mark[]; isComplete: boolean }> {
  // One more than is shown tells whether there are more.
  const matches = await tools.grep({ pattern: MARK, limit: MARKS_MAX + 1 });
  const found: Mark[] = matches.slice(0, MARKS_MAX).map(({ path, line, text }) => ({ path, line, text: text.trim() }));
  return { found, isComplete: matches.length <= MARKS_MAX };
}

/** Adds author and time to the marks of one file, with one call to git. */
async function blame(path: string, marksOfFile: Mark[]): Promise<void> {
  const ranges = marksOfFile.map((mark) => `-L ${mark.line},${mark.line}`).join(" ");
  let current: Mark | undefined;
  for (const line of await run(`git blame --line-porcelain ${ranges} -- ${quote(path)}`)) {
    const header = /^[0-9a-f]{40,64} \d+ (\d+)/.exec(line);
    if (header) current = marksOfFile.find((mark) => mark.line === Number(header[1]));
    else if (!current) continue;
    else if (line.startsWith("author ")) current.author = line.slice("author ".length);
    else if (line.startsWith("author-time ")) current.writtenMs = 1000 * Number(line.slice("author-time ".length));
  }
}

function age(writtenMs: number): string {
  const days = Math.max(0, Math.floor((Date.now() - writtenMs) / DAY_MS));
  if (days < 1) return "today";
  if (days < 60) return plural(days, "day");
  return days < 730 ? plural(Math.round(days / 30), "month") : plural(Math.round(days / 365), "year");
}

function describe(mark: Mark): string {
  const who = mark.author === undefined || mark.writtenMs === undefined
    ? ""
    : mark.author === "Not Committed Yet" ? "  (not committed)" : `  (${mark.author}, ${age(mark.writtenMs)})`;
  const text = mark.text.length > 90 ? `${mark.text.slice(0, 89)}…` : mark.text;
  return `  ${mark.path}:${mark.line}  ${text}${who}`;
}

function languageTable(files: SourceFile[]): string[] {
  const byLanguage = new Map<string, { files: number; lines: number }>();
  for (const file of files) {
    const sum = byLanguage.get(file.language) ?? { files: 0, lines: 0 };
    byLanguage.set(file.language, { files: sum.files + 1, lines: sum.lines + file.lines });
  }
  const total = files.reduce((sum, file) => sum + file.lines, 0) || 1;
  const rows = [...byLanguage].sort((a, b) => b[1].lines - a[1].lines || (a[0] < b[0] ? -1 : 1));
  return rows.map(([name, sum]) =>
    `  ${name.padEnd(12)}${number(sum.files).padStart(7)}${number(sum.lines).padStart(11)}` +
    `${`${Math.round((100 * sum.lines) / total)}%`.padStart(6)}`);
}

/** The first heading of the README, or the folder's name. */
async function title(): Promise<string> {
  const readme: string = await tools.read({ path: "README.md", limit: 40 }).catch(() => "");
  return /^# +(.+)$/m.exec(readme)?.[1].trim() ?? (await run("basename -- \"$PWD\""))[0] ?? "this folder";
}

const isGit = (await run("git rev-parse --is-inside-work-tree"))[0] === "true";
const [name, files, { found, isComplete }, manifests, authors] = await Promise.all([
  title(),
  sourceFiles(isGit),
  marks(),
  tools.find({ pattern: `{${MANIFESTS.join(",")}}`, limit: 5000 }),
  isGit ? run("git shortlog -sn --no-merges --since='90 days ago' HEAD") : [],
]);

if (isGit) {
  const byFile = Map.groupBy(found.slice(0, MARKS_BLAMED), (mark) => mark.path);
  await Promise.all([...byFile].map(([path, ofFile]) => blame(path, ofFile)));
}
found.sort((a, b) => (a.writtenMs ?? Infinity) - (b.writtenMs ?? Infinity));

const lines = files.reduce((sum, file) => sum + file.lines, 0);
const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
const report = [
  `Report on ${name}`,
  `${plural(files.length, "file")}, ${plural(lines, "line")}, ${number(Math.ceil(bytes / 1024))} KiB`,
  "",
  "  Language      Files      Lines Share",
  ...languageTable(files),
];

const kinds = Map.groupBy(
  manifests.map((path: string) => path.slice(path.lastIndexOf("/") + 1)).filter((file: string) => MANIFESTS.includes(file)),
  (file: string) => file,
);
if (kinds.size > 0) {
  report.push("", `Manifests: ${[...kinds].map(([file, all]) => `${all.length} × ${file}`).join(", ")}`);
}

const largest = files
  .filter((file) => !DATA.includes(file.language))
  .sort((a, b) => b.lines - a.lines)
  .slice(0, LARGEST_SHOWN);
report.push("", "Longest sources, in lines", ...largest.map((file) => `${number(file.lines).padStart(9)}  ${file.path}`));

const filesWithMarks = new Set(found.map((mark) => mark.path)).size;
report.push("", found.length === 0
  ? "No open TODO or FIXME"
  : `${isComplete ? "" : "At least "}${number(found.length)} TODO and FIXME in ${plural(filesWithMarks, "file")}, the oldest first`);
report.push(...found.slice(0, MARKS_SHOWN).map(describe));
if (found.length > MARKS_SHOWN) report.push(`  and ${number(found.length - MARKS_SHOWN)} more`);

if (authors.length > 0) {
  const active = authors.slice(0, AUTHORS_SHOWN).map((line) => line.trim().replace(/^(\d+)\s+(.*)$/, "$2 ($1)"));
  const more = authors.length > AUTHORS_SHOWN ? ` and ${authors.length - AUTHORS_SHOWN} more` : "";
  report.push("", `Commits in the last 90 days: ${active.join(", ")}${more}`);
}
return report.join("\n");
