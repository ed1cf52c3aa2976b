import Web

WebServer.run()
