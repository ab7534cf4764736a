const again = (n) => eval('again(n + 1)');
return again(0);
