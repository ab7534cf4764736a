return eval('{'.repeat(2e5) + '}'.repeat(2e5));
