let source = '';
for (let n = 0; n < 50000; n++) source += `l${n}: `;
return eval(source + '{}');
