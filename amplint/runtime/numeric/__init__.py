"""Numeric findings, replayed: the tensor expression around a finding, computed at points where half precision gives out.

    facts           asks the dtype flow what is known of each expression of a file
    sources ... reader
                    turn a body into expressions, floor by floor: names, operators, calls, conditions, statements
    expression      what they turn it into; operations: the closed list that it is made of
    finding         the body to read, before the fix and after; what in it is the finding's own
    sweep           operands: small shapes, every magnitude that matters
    compute         an expression under AMP, or in one precision
    answer, tally   value and gradients at a point; at all points
    verdict         what that comes to

No author code is run. In float64 the author's casts and regions are left out, so that the expression is what is meant.
"""
