"""Objects that lead back to themselves have no class, and nothing that asks for it goes on for ever."""

from __future__ import annotations

import libcst as cst
from lowered import file_of


def test_an_attribute_that_a_method_gives_back_which_it_was_given_by() -> None:
    file = file_of("""
class Trainer:
    def __init__(self):
        self.part = self.made()

    def made(self):
        return self.part

    def step(self):
        self.part.step()
""")
    parts = [each for each in file.tree.find(cst.Attribute) if each.attr.value == "part"]
    assert [file.callees.objects.class_of(each) for each in parts] == [None, None, None]


def test_a_name_of_what_a_method_gives_back_of_the_attribute_that_it_is_put_into() -> None:
    file = file_of("""
class Trainer:
    def __init__(self, model):
        self.wrapped = model

    def wrap(self):
        if self.parallel:
            return self.wrapped
        return Parallel(self.wrapped)

    def train(self):
        model = self.wrap()
        self.wrapped = model
        self.wrapped.step()
""")
    parts = [each for each in file.tree.find(cst.Attribute) if each.attr.value == "wrapped"]
    assert {file.callees.objects.class_of(each) for each in parts} == {None}
