for (let n = 0; ; n++) n ^= 1;
