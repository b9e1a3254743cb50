"""Numeric findings, replayed: the tensor expression around a finding, computed at points where half precision gives out.

`facts` asks the dtype flow, `reader` turns the author's text into an `expression` of `operations`, which is a closed list;
`sweep` makes operands, `compute` computes, `proof` compares, `verdict` says what it comes to. No author code is run.
"""
