for (let n = 0; ; n++) store(`key ${n}`, 'x'.repeat(100000));
