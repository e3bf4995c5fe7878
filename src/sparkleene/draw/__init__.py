"""Pictures as SVG and Graphviz text: automata, and lattices of cubes."""
