const nest = () => ({ toJSON: () => [nest(), nest()] });
return nest();
