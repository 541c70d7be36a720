"""Whole-program capture of data-dependent control flow: both sides of a branch are followed from
one state of the interpreter and merged where they meet; loops are traced to a fixpoint of what they
carry. Takes the same frames, values and tables as straight capture; gives a `ControlProgram`.

    writer     the tree of items under construction, and the straight blocks in it
    questions  what a fork asks at run time (a tensor's truth, a comparison, which of several)
    states     the interpreter's state at the end of an arm, and going back to it
    merging    one value for what differs between arms
    forks      running instructions with forks: arms, their ends, where they go on
    loops      loops whose end depends on data
    lists      lists whose length data decides: in list variables, changed by items
               (list_forms: what elements have in common; list_rows: lists in them; list_registry:
               lengths, and which may be one list; list_methods: calls)
    machine    the machine that ties these together
    finish     from the finished tree to a ControlProgram
"""
