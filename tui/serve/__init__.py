"""The dashboard in a browser; this package needs the extra `rowtui[serve]`.

Takes a port on the loopback interface, gives pages only to a browser that has the token. The screen
itself is an ordinary dashboard in a terminal that textual-serve provides.
"""
