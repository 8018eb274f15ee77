tare-http -rate 200 -connections 32 -requests 160 -reconnect http://127.0.0.1:28080/index.html
