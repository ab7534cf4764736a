return { big: 1n };
