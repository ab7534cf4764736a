const again = () => { setTimeout(again); setTimeout(again); };
again();
await new Promise(() => {});
