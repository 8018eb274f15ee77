written in the form of hey 0.1.4
