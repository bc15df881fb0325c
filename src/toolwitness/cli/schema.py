"""The schemas of what we publish."""

import click

from toolwitness.cli.answers import print_json
from toolwitness.cli.teaching import Taught
from toolwitness.contract.schemas import NAMES
from toolwitness.contract.schemas import schema as schema_of


@click.command(
    cls=Taught,
    examples=[
        "toolwitness schema contract > tool-call-ui.schema.json",
    ],
)
@click.argument("name", type=click.Choice(NAMES))
def schema(name: str) -> None:
    """Print the JSON Schema of what we publish.

    contract is the document of one invocation (tool-call-ui/1), task the document of a task, event the envelope of recorded
    evidence. All are JSON Schema 2020-12.
    """
    print_json(schema_of(name))
