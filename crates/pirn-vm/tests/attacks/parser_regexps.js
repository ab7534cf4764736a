return eval('/a/;'.repeat(3e5));
