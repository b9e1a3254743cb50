"""What does the author's own function compute? It is run, where reading its expression was not possible and the user allows it.

    tree_copies     a copy of the project, for reading only
    target          the function or module that a finding is in, and what is known of its parameters
    running         a process for each text, the order given to it, its answer as plain numbers
    proof           what the answers come to, by the criterion of all verdicts

and in that process:

    author_process  takes the order, confines itself, answers
    confinement     what the author's code may not do; system_calls: the same, held by the kernel
    author_code     imports the file, makes the module, calls it
    call_ways       in which precision, and what is watched meanwhile
    operands        values for the parameters, found by trial
"""
