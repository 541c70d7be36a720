"""From the aten graph to scheduled kernels: lowering, fusion, layout, memory plan."""
