"""`amplint profile`: the same steps of a program in float32, TF32, float16 and bfloat16: what each costs, and which one pays.

`modes` names what is compared. Each turn (`turns`) is a process of its own, in which `turn` runs the program: `steering`
sets its regions, scalers and seeds, `stopwatch` measures its steps, `memory` what they hold. `layer_look` watches one step of
each mode as `amplint trace` does, for the time of its layers. `summary` makes numbers of the turns, `layers` compares the
looks, `advice` puts a recommendation in words. What comes out is a `ProfileRecord` (`profile_record`), plain data that
`amplint.report` shows.
"""
