let s = '[';
for (let n = 0; n < 60000; n++) s += `\\u{${(n * 3 + 65).toString(16)}}`;
return new RegExp(s + ']', 'u').test('\u0041');
