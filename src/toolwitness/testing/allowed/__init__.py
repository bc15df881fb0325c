"""What whole evidence allows a record to claim, one framework a file; written from the framework's own words, apart from its adapter.

A module is named after its format (``openai_responses``) or its framework (``ai_sdk``, ``mcp``) and has one function, ``allowed(rows)``,
which gives an ``Expectation`` for each claim. ``rows`` are all rows of the capture, as ``truth.capture.rows_of`` gives them: rows of a row
capture as they are; of a plain stream each chunk as ``{"src": "runtime", "kind": "chunk", "seq": line, "event": chunk}``.
"""
