await { then(resolve, reject) { resolve(1); reject(2); resolve(3); throw 4; } };
return 'once';
