for (let n = 0; ; n++) store(`${n}`, n), store(`${n}`, undefined);
