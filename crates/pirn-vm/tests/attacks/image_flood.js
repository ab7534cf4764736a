const data = 'iVBORw0KGgoAAAAN' + 'A'.repeat(4e6);
for (;;) image(`data:image/png;base64,${data}`);
