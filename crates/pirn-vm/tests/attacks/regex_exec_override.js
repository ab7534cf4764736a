const r = /a/g;
r.exec = () => ({ index: 0, 0: '', length: 1 });
return 'aaa'.replace(r, 'b');
