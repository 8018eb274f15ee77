tare-http -rate 50 -requests 20 -connections 4 http://127.0.0.1:18081/
