written in the form of dd of BSD and macOS
