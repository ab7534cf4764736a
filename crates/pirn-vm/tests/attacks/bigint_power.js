return (3n ** (2n ** 22n)).toString().length;
