let source = 'switch (7) {';
for (let n = 0; n < 200000; n++) source += `case ${n}: break;`;
return eval(source + '}');
