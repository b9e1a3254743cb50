"""What does the text say? LibCST trees, names, classes and the files of a project; nothing about mixed precision."""
