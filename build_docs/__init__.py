"""What the documentation site is made with, beside MkDocs: mathematics as MathML, and the pages that are generated."""
