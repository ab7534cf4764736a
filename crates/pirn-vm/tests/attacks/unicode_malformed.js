text('\ud800' + 'x\udc00\u0000\uffff'.repeat(1000));
console.log({ '\udfff': '\ud83d' });
notify('\udbff');
store('\ud800', '\udc00');
return await tools.echo({ '\ud800': ['\udc00\ud83d'] });
