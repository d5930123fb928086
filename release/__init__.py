"""Makes releases of rowtui: distributions, lists of what is in them, and the offline bundle.

Takes the checkout and a relocatable CPython; gives the files of `dist/`, each of them tried. rowtui
itself imports nothing from here. `./setup.sh release` runs it with the tools of requirements.txt.
"""
