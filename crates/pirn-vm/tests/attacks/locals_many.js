let source = '';
for (let n = 0; n < 70000; n++) source += `let v${n} = ${n};`;
return eval(source + 'v69999');
