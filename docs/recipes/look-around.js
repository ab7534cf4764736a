// What the commands of a script can reach. Run it by each recipe, and without one, and compare:
//   pirn exec --yes=process - < look-around.js
const canWrite = (folder) =>
  `if touch ${folder}/.look-around 2>/dev/null; then rm -f ${folder}/.look-around; echo yes; else echo no; fi`;

const questions = {
  "user": "id",
  "capabilities": "sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status",
  "kernel": "uname -sr",
  "can write the working folder": canWrite("."),
  "can write /etc": canWrite("/etc"),
  "can write the home folder": canWrite('"$HOME"'),
  "in the home folder": 'ls -A "$HOME" 2>/dev/null | wc -l',
  "sockets below /run": "find /run/ -type s 2>/dev/null | wc -l",
  "processes": "ls /proc | grep -c '^[0-9]'",
  "network interfaces": "sed -n 's/^ *\\([^ :]*\\):.*/\\1/p' /proc/net/dev | sort | tr '\\n' ' '",
  "variables": "env | sed 's/=.*//' | sort | tr '\\n' ' '",
};
for (const [question, command] of Object.entries(questions)) {
  const { output } = await tools.bash({ command, timeout: 30 });
  text(`${question}: ${output.trim()}\n`);
}
