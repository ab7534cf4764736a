const answers = [];
for (const name of ['__proto__', 'constructor', 'then', 'x'.repeat(1e6), '\ud800', '', Symbol.iterator]) {
  try { answers.push(typeof tools[name]); } catch (error) { answers.push(error.name); }
}
return answers;
